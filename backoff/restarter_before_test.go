package backoff_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	clocktesting "k8s.io/utils/clock/testing"
)

// frozenRestarter decides as a Restarter did before rules had more than a code and an
// action, without a Rate. It does not change.
type frozenRestarter struct {
	policy backoff.Policy
	limit  int
	window time.Duration
	clock  *clocktesting.FakePassiveClock
	steady time.Duration
	keys   map[int]*frozenRecord
}

type frozenRecord struct {
	last     backoff.Exit
	ended    time.Time // when last finished, or was reported if that was earlier or it did not say
	decision backoff.Decision
	due      time.Duration
	recent   []time.Duration
}

func (m *frozenRestarter) exited(key int, c backoff.ExitPolicy, e backoff.Exit) backoff.Decision {
	now := m.clock.Now()
	rec := m.keys[key]
	if rec != nil && !isNewAfter(rec.last, rec.ended, e, now) {
		return rec.decision
	}
	if rec == nil {
		rec = &frozenRecord{}
		m.keys[key] = rec
	}
	policy := m.policy
	if e.Finished.IsZero() {
		e.Finished = now
	}
	action, rule := slowDecide(c, e.Code)
	restarts := action == backoff.ActionRestart || action == backoff.ActionRestartAll
	d := backoff.Decision{Action: action, Rule: rule, Failures: rec.decision.Failures}
	if !e.Started.IsZero() && e.Finished.Sub(e.Started) > policy.ResetThreshold() {
		d.Failures = 0
	}
	if restarts || e.Code != 0 {
		d.Failures++
	}
	if restarts && m.limit > 0 {
		allowed := 0
		for _, at := range rec.recent {
			if m.window == 0 || m.steady-at < m.window {
				allowed++
			}
		}
		if allowed >= m.limit {
			d.Action = backoff.ActionGiveUp
		} else {
			rec.recent = append(rec.recent, m.steady)
		}
	}
	if d.Action == backoff.ActionRestart || d.Action == backoff.ActionRestartAll {
		finished := e.Finished
		if finished.After(now) {
			finished = now
		}
		d.Delay = policy.Delay(d.Failures)
		d.NotBefore = finished.Add(d.Delay)
		rec.due = m.steady + max(d.NotBefore.Sub(now), 0)
	}
	rec.last, rec.ended, rec.decision = e, earlierOf(e.Finished, now), d
	return d
}

// todaysPolicy draws a policy of core/v1's form, valid or not, of which no rule gives up.
func todaysPolicy(rng *rand.Rand) (c backoff.ExitPolicy) {
	c.RestartPolicy = []backoff.RestartPolicy{"", "Always", "OnFailure", "Never", "Sometimes"}[rng.IntN(5)]
	for range rng.IntN(5) {
		r := backoff.Rule{Action: []backoff.Action{backoff.ActionRestart, backoff.ActionRestartAll, backoff.ActionRestart, backoff.ActionStop, "Reboot", ""}[rng.IntN(6)]}
		if rng.IntN(9) > 0 {
			r.ExitCodes = &backoff.ExitCodes{Operator: []backoff.Operator{backoff.OperatorIn, backoff.OperatorNotIn, backoff.OperatorIn, backoff.OperatorNotIn, "Exists", ""}[rng.IntN(6)]}
			n := rng.IntN(4)
			if rng.IntN(50) == 0 {
				n = 64
			}
			for range n {
				r.ExitCodes.Values = append(r.ExitCodes.Values, int32(rng.IntN(4)))
			}
		}
		c.Rules = append(c.Rules, r)
	}
	return c
}

// Policies in core/v1's form decide on random exits like an earlier version.
func TestCoreV1PoliciesDecideAsBefore(t *testing.T) {
	decideAsBefore(t, rand.New(rand.NewPCG(1, 2)), 100_000)
}

// decideAsBefore compares the decisions on n random exits with those of an earlier version.
func decideAsBefore(t *testing.T, rng *rand.Rand, n int) {
	exits, found := 0, map[backoff.Action]int{}
	for exits < n {
		c := fakeClock()
		policy := backoff.Policy{Initial: second, Max: minute, FreeFailures: rng.IntN(2), Factor: float64(rng.IntN(3))}
		o := backoff.RestarterOptions[int]{Clock: c, Limit: rng.IntN(4)}
		if o.Limit > 0 {
			o.Window = time.Duration(rng.IntN(3)) * minute
		}
		r, err := backoff.NewRestarter(policy, o)
		if err != nil {
			t.Fatal(err)
		}
		m := &frozenRestarter{policy: policy, limit: o.Limit, window: o.Window, clock: c, keys: map[int]*frozenRecord{}}
		for range 1000 {
			exits++
			p, key := todaysPolicy(rng), rng.IntN(3)
			e := backoff.Exit{Run: int64(rng.IntN(1200)), Code: int32(rng.IntN(4)), Finished: c.Now().Add(time.Duration(rng.IntN(20)-10) * second)}
			e.Started = e.Finished.Add(-time.Duration(rng.IntN(200)) * second)
			switch rng.IntN(20) {
			case 0:
				e.Finished = time.Time{}
			case 1:
				e.Started = time.Time{}
			case 2:
				e.Code = int32(rng.Uint32())
			}
			want, got := m.exited(key, p, e), r.Exited(key, p, e)
			if got != want {
				t.Fatalf("%+v under %+v: %+v, want %+v", e, p, got, want)
			}
			found[got.Action]++
			d := time.Duration(rng.IntN(60)-5) * second
			step(c, d)
			m.steady += max(d, 0)
		}
	}
	t.Log(exits, "exits", found)
	if len(found) != 4 {
		t.Error("not every action was decided")
	}
}
