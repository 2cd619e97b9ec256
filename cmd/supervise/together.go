package main

import (
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A rule with the action RestartAllContainers restarts all commands together. When it
// matches an exit of one command, the others are terminated. When the delay of that
// command is over, all start. All of these restarts count and take turns under the
// rate; only that command has a delay.

// reasonTogether is the reason of an exit that another command's rule caused.
const reasonTogether = "RestartAllContainers"

// atOnce returns a task's curve after such an exit: no delay, and the same ResetAfter.
func atOnce(p backoff.Policy) backoff.Policy {
	return backoff.Policy{Initial: 1, Max: 1, ResetAfter: p.ResetThreshold()}
}

// restartOthers terminates the other tasks; they start again with t.
func (s *supervisor) restartOthers(t *task) {
	for _, other := range s.tasks {
		switch {
		case other == t || other.starts == 0:
		case other.process != nil:
			other.together = true
			other.terminate(s.grace)
		case !other.over():
			s.wakeOne(other)
		default:
			other.together = true
			other.run++
			s.decide(other, backoff.Exit{Run: other.run, Code: other.code, Reason: reasonTogether, Finished: time.Now()})
		}
	}
}

// waitsFor returns the task that t waits for in addition to its own delay, or nil. The
// task whose rule restarts all waits for those that still end; the others wait for it.
func (s *supervisor) waitsFor(t *task) *task {
	if !s.together {
		return nil
	}
	for _, other := range s.tasks {
		leads := other.process == nil && !other.stopped && other.decision.Action == backoff.ActionRestartAll
		if t.decision.Action == backoff.ActionRestartAll && other.together || t.decision.Action != backoff.ActionRestartAll && leads {
			return other
		}
	}
	return nil
}

// restartsAll reports whether any rule may restart all commands.
func (c *config) restartsAll() bool {
	return slices.ContainsFunc(c.commands, func(c command) bool {
		return slices.ContainsFunc(c.policy.Rules, func(r backoff.Rule) bool { return r.Action == backoff.ActionRestartAll })
	})
}
