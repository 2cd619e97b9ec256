package main

import (
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A rule with the action RestartAllContainers restarts all commands together: the
// others are ended when it matches, and everything is started when the delay of the
// one that it matched for is over. All of these restarts count and take their turns
// under the rate; only the one has a delay.

// reasonTogether is the reason of an exit that another command's rule brought
// about.
const reasonTogether = "RestartAllContainers"

// atOnce is a task's curve after such an exit: no delay, and the same rule for
// starting over.
func atOnce(p backoff.Policy) backoff.Policy {
	return backoff.Policy{Initial: 1, Max: 1, ResetAfter: p.ResetThreshold()}
}

// restartOthers ends the other tasks, to be started again with t.
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

// waitsFor returns the task that t has to wait for beside its own delay, or nil:
// for the one that restarts all, or, if t is that, for one that is still ending.
func (s *supervisor) waitsFor(t *task) *task {
	if !s.together {
		return nil
	}
	for _, other := range s.tasks {
		leads := other.process == nil && !other.stopped && other.decision.Action == backoff.RestartAll
		if t.decision.Action == backoff.RestartAll && other.together || t.decision.Action != backoff.RestartAll && leads {
			return other
		}
	}
	return nil
}

// restartsAll reports whether any rule may restart all commands.
func (c *config) restartsAll() bool {
	return slices.ContainsFunc(c.commands, func(c command) bool {
		return slices.ContainsFunc(c.policy.Rules, func(r backoff.Rule) bool { return r.Action == backoff.RestartAll })
	})
}
