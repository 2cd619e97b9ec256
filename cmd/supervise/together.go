package main

import (
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A rule with the action RestartAllContainers restarts all commands together. When the
// rule matches an exit of one command, the other commands are terminated. After that
// command's delay, all of them start. Each restart counts and takes a turn under the
// rate, but only the command with the rule waits for a delay.

// reasonTogether is the reason of an exit that another command's rule caused.
const reasonTogether = "RestartAllContainers"

// atOnce returns the policy for such an exit, a restart without a delay and with the
// ResetAfter of the command's own curve.
func (t *task) atOnce() backoff.ExitPolicy {
	return backoff.ExitPolicy{Delay: &backoff.Policy{Initial: 1, Max: 1, ResetAfter: t.policy.Delay.ResetThreshold()}}
}

// restartOthers terminates the other tasks, which start again together with t.
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
			s.restarter.Forgive(other.name) // a limit that it reached does not stop this restart
			s.decide(other, backoff.Exit{Run: other.run, Code: other.code, Reason: reasonTogether, Finished: time.Now()})
		}
	}
}

// waitsFor returns the task that t waits for in addition to its own delay, or nil. The
// task with the matching rule waits until the others have ended. The others wait for
// it.
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

// restartsAll reports whether a rule may restart all commands.
func (c *config) restartsAll() bool {
	return slices.ContainsFunc(c.commands, func(c command) bool {
		return slices.ContainsFunc(c.policy.Rules, func(r backoff.Rule) bool { return r.Action == backoff.ActionRestartAll })
	})
}
