package fake

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run lives a server's life, and returns its exit status.
func (s *server) run(args []string) int {
	s.noteStart()
	if s.wrap {
		return s.runWrapped(args)
	}
	if s.banner {
		fmt.Fprintln(s.out, "fakemcp v1.0 🚀 ready! listening on stdio…")
	}
	if s.errFlood > 0 {
		s.flood(s.errFlood << 10)
		s.note("stderr-flood done", s.errFlood)
	}
	s.fallAtStart()
	s.lock()
	s.obey()
	if s.child || s.childSetsid {
		s.startChild()
	}
	time.Sleep(s.startDelay)
	s.serve()
	s.note("eof", nil)
	if s.ignoreEOF {
		select {}
	}
	s.note("exit", object{"code": 0, "why": "eof"})
	return 0
}

// flood writes kib lines of 1 KiB to stderr.
func (s *server) flood(kib int) {
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	for range kib {
		_, _ = s.errOut.Write(line)
	}
}

// fallAtStart is the end of servers that cannot start.
func (s *server) fallAtStart() {
	if s.crashStart {
		fmt.Fprintln(s.errOut, "fakemcp: cannot start: no such luck")
		s.exit(3, "crash-start")
	}
	if s.exitCode != 0 {
		s.exit(s.exitCode, "exit")
	}
	if s.crashTimes == 0 {
		return
	}
	if n := countStart(s.state); n < s.crashTimes {
		fmt.Fprintf(s.errOut, "fakemcp: crash %d of %d\n", n+1, s.crashTimes)
		s.exit(3, "crash-times")
	}
}

// countStart counts one start in file, and returns how many there were before.
func countStart(file string) int {
	n := 0
	if b, err := os.ReadFile(file); err == nil {
		n, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	_ = os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600)
	return n
}

// lock is the habit of servers of which only one may run.
func (s *server) lock() {
	if s.lockfile == "" {
		return
	}
	f, err := os.OpenFile(s.lockfile, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		fmt.Fprintf(s.errOut, "fakemcp: %s is in use by another server\n", s.lockfile)
		s.exit(5, "lockfile")
	}
	s.locked = f
}

// obey has a signal end the process, unless told not to, from its return on: who
// has an answer knows that signals are obeyed, or ignored.
func (s *server) obey() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for sig := range ch {
			s.note("signal", sig.String())
			if !s.ignoreTerm {
				s.exit(0, "signal "+sig.String())
			}
		}
	}()
}

// startChild leaves a process that holds our pipes open when we are gone.
func (s *server) startChild() {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr = s.out, s.errOut
	if s.childSetsid {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(s.errOut, "fakemcp:", err)
		return
	}
	s.note("grandchild", cmd.Process.Pid)
}

// runWrapped stands between the starter and the server, as npx does, and hands
// no signal on.
func (s *server) runWrapped(args []string) int {
	var inner []string
	for _, a := range args {
		if strings.TrimLeft(a, "-") != "wrap" {
			inner = append(inner, a)
		}
	}
	self, err := os.Executable()
	if err != nil {
		s.exit(3, err.Error())
	}
	cmd := exec.Command(self, inner...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.errOut
	if err := cmd.Run(); err != nil {
		s.exit(1, err.Error())
	}
	s.note("exit", object{"code": 0, "why": "wrapped child done"})
	return 0
}
