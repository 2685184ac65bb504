package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/proc"
)

// asker is who types a command, as far as it says which session is meant.
type asker struct {
	flag      string // --session
	variable  string // of the session that runs the command
	ancestors []int  // nearest first
}

func (p *program) asker(c *cli.Command) asker {
	a := asker{flag: c.String("session"), variable: cmp.Or(p.getenv("MCPX_SESSION_ID"), p.getenv("CLAUDE_CODE_SESSION_ID"))}
	for _, info := range proc.Ancestors(os.Getpid(), 64) {
		a.ancestors = append(a.ancestors, info.PID)
	}
	return a
}

// choose finds the session that is meant: the one that is named, else that of the
// agent in whose shell the command was typed, by its id or by its process, else
// the only one there is. It never guesses. Pure.
func choose(sessions []api.SessionStatus, a asker) (api.SessionStatus, error) {
	if len(sessions) == 0 {
		return api.SessionStatus{}, &failure{msg: "no session is open", hint: "a session is open while a host has mcpx connect running"}
	}
	if a.flag != "" {
		return named(sessions, a.flag)
	}
	for _, s := range sessions {
		if s.ID == a.variable {
			return s, nil
		}
	}
	for _, pid := range a.ancestors {
		if of := those(sessions, func(s api.SessionStatus) bool { return s.Host.PID == pid }); len(of) > 0 {
			return only(of, "this is run inside of %d sessions of one host")
		}
	}
	return only(sessions, "%d sessions are open")
}

// named is the session of that id, or the only one whose id begins so.
func named(sessions []api.SessionStatus, id string) (api.SessionStatus, error) {
	for _, s := range sessions {
		if s.ID == id {
			return s, nil
		}
	}
	begin := those(sessions, func(s api.SessionStatus) bool { return strings.HasPrefix(s.ID, strings.TrimSuffix(id, "…")) })
	if len(begin) == 0 {
		return api.SessionStatus{}, &failure{msg: fmt.Sprintf("no open session is called %q", id), hint: "open are: " + candidatesOf(sessions)}
	}
	return only(begin, "%d sessions are called that or begin so")
}

func only(sessions []api.SessionStatus, many string) (api.SessionStatus, error) {
	if len(sessions) > 1 {
		return api.SessionStatus{}, &failure{msg: fmt.Sprintf(many, len(sessions)), hint: "say which: --session ID, of " + candidatesOf(sessions)}
	}
	return sessions[0], nil
}

func those(sessions []api.SessionStatus, fits func(api.SessionStatus) bool) (out []api.SessionStatus) {
	for _, s := range sessions {
		if fits(s) {
			out = append(out, s)
		}
	}
	return out
}

// candidatesOf names sessions so that one can be told from another.
func candidatesOf(sessions []api.SessionStatus) string {
	var out []string
	for _, s := range sessions {
		out = append(out, fmt.Sprintf("%s (%s in %s)", s.ID, cmp.Or(s.Host.Name, "a host"), cmp.Or(s.Cwd.Path, "no directory")))
	}
	return strings.Join(out, ", ")
}

// withSession has a daemon do something to the session that is meant.
func (p *program) withSession(ctx context.Context, c *cli.Command, do func(*api.Client, api.SessionStatus) (*api.SessionStatus, error)) (*api.SessionStatus, error) {
	var after *api.SessionStatus
	err := p.withDaemon(c, func(client *api.Client) error {
		s, err := client.Status(ctx)
		if err != nil {
			return err
		}
		meant, err := choose(s.Sessions, p.asker(c))
		if err != nil {
			return err
		}
		after, err = do(client, meant)
		return err
	})
	return after, err
}

func sessionFlag() cli.Flag {
	return &cli.StringFlag{Name: "session", Usage: "which session, when it is not the one that runs this"}
}
