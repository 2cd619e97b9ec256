package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// save writes the state. It warns on the first of consecutive failures.
func (s *supervisor) save() {
	if s.store == nil {
		return
	}
	st := state{Run: s.children.Run(), Commands: make(map[string]commandState)}
	for _, t := range s.tasks {
		c := commandState{Definition: t.definition(), Run: t.run, Starts: t.starts, Stopped: t.held}
		if b, ok := s.restarter.State(t.name); ok {
			c.Backoff = &b
		}
		st.Commands[t.name] = c
	}
	s.store.Save(st, func(err error) { s.screen.note("warning: -state: %v", err) })
}

// resume kills the processes left by the previous run and restores its state.
func (s *supervisor) resume(note func(string, ...any)) error {
	var st state
	if _, err := s.store.Load(&st, st.valid); err != nil {
		return err
	}
	if st.Run != "" {
		if err := process.KillRun(st.Run); err != nil {
			return err
		}
	}
	for _, t := range s.tasks {
		c, ok := st.Commands[t.name]
		if !ok {
			continue
		}
		if c.Definition != t.definition() {
			note("note: %s: starts over, since its command is now %s", t.name, oneLine(t.args))
			continue
		}
		t.run, t.starts, t.held = c.Run, c.Starts, c.Stopped
		if c.Backoff == nil {
			if t.held {
				note("note: %s: %s", t.name, t.resumed(0))
			}
			continue
		}
		s.restarter.Restore(t.name, *c.Backoff)
		b, _ := s.restarter.State(t.name)
		t.decision, t.code = b.Decision(), b.Exit.Code
		note("note: %s: %s", t.name, t.resumed(s.remaining(t)))
	}
	return nil
}

// resumed returns the note on how a task continues.
func (t *task) resumed(remaining time.Duration) string {
	switch {
	case t.held:
		return "is stopped, until \"supervise restart\""
	case t.over():
		return "has ended; remove the state to start over"
	}
	text := fmt.Sprintf("goes on after %d failures in a row", t.decision.Failures)
	if t.decision.Failures == 1 {
		text = "goes on after 1 failure"
	}
	if remaining > 0 {
		text += ", in " + terminal.Wait(remaining)
	}
	return text
}

// oneLine returns a command as typed in a shell.
func oneLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		if quoted[i] = arg; arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$") {
			quoted[i] = fmt.Sprintf("%q", arg)
		}
	}
	return strings.Join(quoted, " ")
}
