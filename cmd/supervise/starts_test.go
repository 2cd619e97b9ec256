package main

import (
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// RestartAllContainers restarts a command that has used up a limit, too.
func TestRestartAllContainersRestartsWhatWasGivenUp(t *testing.T) {
	o := &options{resolution: backoff.ResolvedConfig{Policy: backoff.CrashLoop()}}
	o.commands = []command{
		{name: "leader"},
		{name: "limited", policy: backoff.ExitPolicy{Rules: []backoff.Rule{{
			Action: backoff.ActionRestart, MinFailures: 1, Limit: 1, Window: time.Hour,
		}}}},
	}
	s, err := newSupervisor(o, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	limited := s.tasks[1]
	for _, want := range []backoff.Action{backoff.ActionRestart, backoff.ActionGiveUp} {
		limited.run++
		limited.starts++
		s.decide(limited, backoff.Exit{Run: limited.run, Code: 1, Finished: time.Now()})
		if limited.decision.Action != want {
			t.Fatalf("exit %d: %s, want %s", limited.run, limited.decision.Action, want)
		}
	}
	s.restartOthers(s.tasks[0])
	if got := limited.decision.Action; got != backoff.ActionRestart || s.remaining(limited) > time.Millisecond {
		t.Errorf("%s, in %v, want a restart at once", got, s.remaining(limited))
	}
}

// The rate spaces restarts. All commands start at once.
func TestFirstStartsTakeNoTurn(t *testing.T) {
	o := &options{resolution: backoff.ResolvedConfig{Policy: backoff.CrashLoop()}}
	o.rate, o.commands = 0.001, []command{{name: "a"}, {name: "b"}}
	s, err := newSupervisor(o, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range s.tasks {
		if wait := s.remaining(one); wait != 0 {
			t.Errorf("%s starts in %v", one.name, wait)
		}
	}
}
