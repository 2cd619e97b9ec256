package decide

import (
	"time"

	"github.com/restartkit/restart/backoff"
)

// judge decides about the newest record of a container, which has exited.
func (s *step) judge(p *Pod, c Container, r Record, n int, records []Record, box string, ready bool) (Reason, time.Duration) {
	switch {
	case p.Ended:
		return ReasonEnded, 0
	case !ready || r.Sandbox != box:
		return ReasonSandbox, 0
	case !r.Detailed:
		return ReasonUnread, 0
	}
	exit := exitOf(r)
	if action, _ := c.Policy.DecideExit(exit, 1); action != backoff.ActionRestart {
		return ReasonNoRestart, 0
	}
	due, wait := s.due(p, r, exit) // also counts the exit
	least := s.budget.limits.MinDelay - s.since(r)
	switch {
	case !due && wait == 0:
		return ReasonKubelet, 0
	case n > 1:
		return ReasonOlder, 0
	case !s.shown(p, r):
		return ReasonNotShown, 0
	case restartsAll(p, records):
		return ReasonElsewhere, 0
	case !initialized(p, records, box):
		return ReasonInit, 0
	case r.NextCount != r.RestartCount+1:
		return ReasonLog, 0
	case !due || least > 0:
		return ReasonWaiting, max(wait, least)
	}
	return ReasonDue, 0
}

// since returns the time since an exit, at least that since it was first observed. So a
// clock that was set back prolongs no wait.
func (s *step) since(r Record) time.Duration {
	observed := s.o.Elapsed - s.seen[r.ID].at
	if r.Finished.IsZero() {
		return observed
	}
	return max(s.o.Now.Sub(r.Finished), observed)
}

func exitOf(r Record) backoff.Exit {
	e := backoff.Exit{Run: r.RestartCount + 1, Code: r.Code, Reason: r.Reason, Started: r.Started, Finished: r.Finished}
	if e.Finished.IsZero() {
		e.Started = time.Time{}
	}
	return e
}

// due counts an exit and reports whether its delay is over, or returns the rest. The
// rest is 0 if the kubelet's delay applies.
func (s *step) due(p *Pod, r Record, exit backoff.Exit) (bool, time.Duration) {
	if s.ended[r.ID] {
		if p.Rules != nil {
			s.report(p, r, exit)
		}
		return true, 0
	}
	if p.Rules == nil {
		return false, 0
	}
	if d := s.report(p, r, exit); p.Rules.Delay(d.Action, d.Rule) == nil {
		return false, 0
	}
	return s.restarter.CanStart(key(p.UID, r.Name))
}

func (s *step) report(p *Pod, r Record, exit backoff.Exit) backoff.Decision {
	return s.restarter.Exited(key(p.UID, r.Name), p.Rules.ExitPolicy(), exit)
}

// shown reports whether the kubelet has certainly seen an exit.
func (s *step) shown(p *Pod, r Record) bool {
	if p.Static {
		return s.o.Elapsed-s.seen[r.ID].at >= Settle
	}
	exit, ok := p.Shown[r.ID]
	return ok && exit.Name == r.Name && exit.Finished.Unix() == r.Finished.Unix()
}

// restartsAll reports whether a container of the pod has exited in a way that makes the
// kubelet restart all of them. An exit whose status is unknown may be such.
func restartsAll(p *Pod, records []Record) bool {
	for _, c := range p.Containers {
		if len(c.Policy.Rules) == 0 {
			continue
		}
		for _, r := range named(records, c.Name) { // after a clock was set back, the newest may not be the last
			if r.State != Exited {
				continue
			}
			if !r.Detailed {
				return true
			}
			if action, _ := c.Policy.DecideExit(exitOf(r), 1); action == backoff.ActionRestartAll {
				return true
			}
		}
	}
	return false
}

// initialized reports whether the records of the init containers alone tell the
// kubelet that the pod is initialized.
func initialized(p *Pod, records []Record, box string) bool {
	for _, c := range p.Containers {
		if !c.Init {
			continue
		}
		all := named(records, c.Name)
		switch {
		case len(all) == 0 || all[0].Sandbox != box:
			return false
		case c.Sidecar:
			if all[0].State != Running || !c.Initialized {
				return false
			}
		case all[0].State != Exited || !all[0].Detailed || all[0].Code != 0:
			return false
		}
	}
	return true
}
