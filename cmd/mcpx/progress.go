package main

import (
	"fmt"
	"sync"
	"time"
)

// progress is one moving line on stderr, for work that a person waits for. Off
// a terminal it says nothing: what comes of the work is said at its end.
type progress struct {
	p     printer
	on    bool
	texts chan string
	wg    sync.WaitGroup
}

func (p *program) startProgress() *progress {
	m := &progress{p: p.err(), on: isTerminal(p.stderr), texts: make(chan string)}
	if m.on {
		m.wg.Go(m.move)
	}
	return m
}

// show says what is going on now.
func (m *progress) show(text string) {
	if m.on {
		m.texts <- text
	}
}

// end takes the line away. Nothing is shown after it.
func (m *progress) end() {
	close(m.texts)
	m.wg.Wait()
}

func (m *progress) move() {
	const wipe = "\r\x1b[K"
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	text, begin := "", time.Now()
	for {
		select {
		case t, ok := <-m.texts:
			if !ok {
				fmt.Fprint(m.p.w, wipe)
				return
			}
			text, begin = t, time.Now()
		case <-tick.C:
		}
		fmt.Fprint(m.p.w, wipe+m.p.clean(fmt.Sprintf("%s … %s", text, ago(time.Since(begin)))))
	}
}
