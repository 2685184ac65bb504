package page

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
)

// Link makes a way in for one visitor: an address for who types it, and a file
// that leads a browser there, because everybody can read the arguments that a
// browser is started with (threat T32). Both are good once and for a minute.
func (p *Page) Link(v Visitor) (api.Link, error) {
	f, err := os.CreateTemp(p.o.Dir, "ui-*.html") // 0600
	if err != nil {
		return api.Link{}, err
	}
	l := api.Link{File: f.Name(), Address: "http://" + p.o.Listener.Addr().String() + "/"}
	p.mu.Lock()
	p.left[l.File] = true
	p.quiet.Reset(Linger) // somebody is about to come
	if p.busy > 0 {
		p.quiet.Stop()
	}
	p.mu.Unlock()
	remove := func() { p.remove(l.File) }
	l.Address += "#" + p.keys.code(v, time.Now(), remove)
	time.AfterFunc(codeLife, remove)
	_, err = fmt.Fprintf(f, forward, l.Address)
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return api.Link{}, err
	}
	return l, nil
}

// forward is a page that leads to another, which is ours and needs no escaping.
const forward = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%[1]s">
<title>mcpx</title>
<a href="%[1]s">mcpx</a>
`

func (p *Page) remove(file string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left[file] {
		delete(p.left, file)
		_ = os.Remove(file)
	}
}

// clear removes what leads nowhere any more.
func (p *Page) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for file := range p.left {
		_ = os.Remove(file)
	}
	clear(p.left)
}

// Sweep removes the files of a page whose daemon was killed.
func Sweep(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, "ui-*.html"))
	for _, file := range old {
		_ = os.Remove(file)
	}
}
