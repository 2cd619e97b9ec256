package backoff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/restartkit/restart/backoff"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// modelRestarter is the rules of a Restarter without a Rate, spelled out. Its time
// is the sum of the clock's steps forward, however many.
type modelRestarter struct {
	policy    backoff.Policy
	policyFor func(key string, e backoff.Exit) backoff.Policy
	limit     int
	window    time.Duration
	history   int
	clock     *clocktesting.FakePassiveClock
	steady    time.Time
	keys      map[string]*modelRecord
}

type modelRecord struct {
	last     backoff.Exit
	ended    time.Time // when last finished, or was reported if that was earlier or it did not say
	decision backoff.Decision
	started  bool // the restart was
	due      time.Time
	recent   []time.Time
	rules    map[string]*modelCount // by name, or index
	history  []backoff.ExitRecord
}

// modelCount holds the counts of a rule with a Delay or a Limit.
type modelCount struct {
	failures int
	delay    *backoff.Policy // of the rule, when it was last seen
	decided  []time.Time     // restarts, each
	windowed bool            // whether decided was counted within a Window
}

// ruleKey returns the key of a rule's counts.
func ruleKey(c backoff.ExitPolicy, i int) string {
	if c.Rules[i].Name != "" {
		return c.Rules[i].Name
	}
	return fmt.Sprint("#", i)
}

func (m *modelRestarter) step(d time.Duration) {
	step(m.clock, d)
	m.steady = m.steady.Add(max(d, 0))
}

func (m *modelRestarter) exited(key string, c backoff.ExitPolicy, e backoff.Exit) backoff.Decision {
	now := m.clock.Now()
	rec := m.keys[key]
	if rec != nil && !isNewAfter(rec.last, rec.ended, e, now) {
		return rec.decision
	}
	if rec == nil {
		rec = &modelRecord{rules: map[string]*modelCount{}}
		m.keys[key] = rec
	}
	policy := m.policyFor(key, e)
	invalid := policy != backoff.Policy{} && policy.Validate() != nil
	if policy.Validate() != nil {
		policy = m.policy
	}
	if e.Finished.IsZero() {
		e.Finished = now
	}
	failures := rec.decision.Failures
	if !e.Started.IsZero() && e.Finished.Sub(e.Started) > policy.ResetThreshold() {
		failures = 0
	}
	action, rule := slowDecideExit(c, e, failures+1)
	if action != backoff.ActionStop || e.Code != 0 {
		failures++
	}
	d := backoff.Decision{Action: action, Rule: rule, Failures: failures, PolicyInvalid: invalid}
	// Counts of rules: those that are gone are forgotten, unless there are none at all;
	// those of a Delay start over with a long run.
	for name, n := range rec.rules {
		there := len(c.Rules) == 0
		for i, r := range c.Rules {
			if ruleKey(c, i) == name && (r.Delay != nil || r.Limit > 0) {
				if there, n.delay = true, r.Delay; r.Delay == nil {
					n.failures = 0
				}
			}
		}
		if !there {
			delete(rec.rules, name)
		} else if n.delay != nil && !e.Started.IsZero() && e.Finished.Sub(e.Started) > n.delay.ResetThreshold() {
			n.failures = 0
		}
	}
	limit, window, recent := m.limit, m.window, &rec.recent
	count := failures
	restarts := d.Action == backoff.ActionRestart || d.Action == backoff.ActionRestartAll
	if rule >= 0 {
		r := c.Rules[rule]
		d.RuleName = r.Name
		if r.Delay != nil || r.Limit > 0 {
			n := rec.rules[ruleKey(c, rule)]
			if n == nil {
				n = &modelCount{delay: r.Delay}
				rec.rules[ruleKey(c, rule)] = n
			}
			if r.Delay != nil {
				n.failures++
				d.RuleFailures, count, policy = n.failures, n.failures, *r.Delay
			}
			if r.Limit > 0 {
				if restarts && n.windowed != (r.Window > 0) {
					n.decided, n.windowed = nil, r.Window > 0
				}
				limit, window, recent = r.Limit, r.Window, &n.decided
			}
		}
	}
	if restarts && limit > 0 {
		allowed := 0
		for _, at := range *recent {
			if window == 0 || m.steady.Sub(at) < window {
				allowed++
			}
		}
		if allowed >= limit {
			d.Action = backoff.ActionGiveUp
		} else {
			*recent = append(*recent, m.steady)
		}
	}
	if d.Action == backoff.ActionRestart || d.Action == backoff.ActionRestartAll {
		finished := e.Finished
		if finished.After(now) {
			finished = now
		}
		d.Delay = policy.Delay(count)
		if e.RetryAfter > d.Delay {
			d.Delay = min(e.RetryAfter, policy.Max)
		}
		d.NotBefore = finished.Add(d.Delay)
		rec.due = m.steady.Add(max(d.NotBefore.Sub(now), 0))
	}
	if rec.decision.Action != "" {
		rec.history = append(rec.history, backoff.ExitRecord{rec.last, rec.decision})
		rec.history = rec.history[max(0, len(rec.history)-m.history):]
	}
	rec.last, rec.ended, rec.decision, rec.started = e, earlierOf(e.Finished, now), d, false
	return d
}

// isNewAfter reports whether e, reported at now, is new after the last exit, which
// ended at ended.
func isNewAfter(last backoff.Exit, ended time.Time, e backoff.Exit, now time.Time) bool {
	saysRun, saysFinished := e.Run != 0, !e.Finished.IsZero()
	if !saysRun && !saysFinished {
		return true // nothing to know it again by
	}
	if saysRun && e.Run == last.Run {
		return false
	}
	if e.Run > last.Run {
		return true // one more run, whatever the clock showed
	}
	if saysRun {
		// The counter has gone back: over from the start if this one ended later.
		return saysFinished && e.Finished.After(last.Finished)
	}
	if !e.Finished.Before(last.Finished) {
		return e.Finished.After(last.Finished)
	}
	// It finished before the last one: old, unless the two are by clocks that disagree. The
	// last one's has to be ahead of the present one, and this one's not.
	lastIsAhead, thisIsAhead := last.Finished.After(now), e.Finished.After(now)
	if !lastIsAhead || thisIsAhead {
		return false
	}
	// Either the clock was set back since the last one, or it finished since then.
	return now.Before(ended) || !e.Finished.Before(ended)
}

func (rec *modelRecord) pending() bool {
	return !rec.started && (rec.decision.Action == backoff.ActionRestart || rec.decision.Action == backoff.ActionRestartAll)
}

func (m *modelRestarter) remaining(key string) time.Duration {
	rec := m.keys[key]
	if rec == nil || !rec.pending() {
		return 0
	}
	return min(max(rec.due.Sub(m.steady), 0), rec.decision.Delay)
}

// modelPolicies are per outcome: OOMKilled restarts fast, "flat" is a sidecar's,
// Evicted's is invalid.
func modelPolicies(key string, e backoff.Exit) backoff.Policy {
	switch {
	case e.Reason == "OOMKilled":
		return backoff.Policy{Initial: second, Max: second, ResetAfter: minute}
	case e.Reason == "Evicted":
		return backoff.Policy{Initial: minute, Max: second}
	case key == "flat":
		return backoff.Policy{Initial: 2 * second, Max: 10 * second, Factor: 1, FreeFailures: 1}
	}
	return backoff.Policy{} // the Restarter's
}

// A Restarter decides like the model under any clock, exits and restores.
func TestRestarterAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(second)}).Draw(t, "policy")
		c := fakeClock()
		options := backoff.RestarterOptions[string]{
			Clock: c, PolicyFor: modelPolicies,
			Limit: rapid.IntRange(0, 4).Draw(t, "limit"), History: rapid.IntRange(0, 3).Draw(t, "history"),
		}
		if options.Limit > 0 {
			options.Window = rapid.SampledFrom([]time.Duration{0, second, 10 * minute, 24 * time.Hour}).Draw(t, "window")
		}
		m := &modelRestarter{policy: policy, policyFor: modelPolicies, limit: options.Limit, window: options.Window, history: options.History,
			clock: c, keys: map[string]*modelRecord{}}
		r := newRestarter(t, policy, options)
		keys := rapid.SampledFrom([]string{"a", "b", "flat"})
		runs := map[string]int64{}
		var sent []func() // every exit so far, to be reported again
		flip := 60 * year
		t.Repeat(map[string]func(*rapid.T){
			"exit": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				runs[key]++
				e := backoff.Exit{Run: runs[key], Code: codes().Draw(t, "code"), Reason: rapid.SampledFrom([]string{"Error", "OOMKilled", "Evicted"}).Draw(t, "reason"),
					Finished: c.Now().Add(backoff.Distances().Draw(t, "finished"))}
				if rapid.Bool().Draw(t, "started") {
					e.Started = e.Finished.Add(-backoff.Distances().Draw(t, "ran"))
				}
				if rapid.IntRange(0, 3).Draw(t, "run?") == 0 {
					e.Run = 0
				}
				if rapid.IntRange(0, 3).Draw(t, "finished?") == 0 {
					e.Finished = time.Time{}
				}
				if rapid.IntRange(0, 3).Draw(t, "retry?") == 0 {
					e.RetryAfter = backoff.Distances().Draw(t, "retry after")
				}
				if rapid.IntRange(0, 3).Draw(t, "signal?") == 0 {
					e.Signal = rapid.SampledFrom([]int32{9, 15, 35, 99}).Draw(t, "signal")
				}
				p := richPolicies().Draw(t, "container")
				report := func() {
					want := m.exited(key, p, e)
					got := r.Exited(key, p, e)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%s: %+v: %s", key, e, diff)
					}
					if got.Reason(p, e) == "" {
						t.Fatal("no reason given")
					}
				}
				if report(); e.Run != 0 || !e.Finished.IsZero() {
					sent = append(sent, report)
				}
			},
			"reported again": func(t *rapid.T) {
				if len(sent) > 0 {
					rapid.SampledFrom(sent).Draw(t, "exit")()
				}
			},
			"counter starts over": func(t *rapid.T) { delete(runs, keys.Draw(t, "key")) },
			"step":                func(t *rapid.T) { m.step(backoff.Distances().Draw(t, "by")) },
			"flip":                func(t *rapid.T) { flip = -flip; m.step(flip); r.Remaining("a") },
			"wake": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				rec := m.keys[key]
				want := rec != nil && rec.decision.Action != backoff.ActionStop && rec.decision.Action != backoff.ActionGiveUp
				if want && rec.pending() && rec.due.After(m.steady) {
					rec.due, rec.decision.Delay, rec.decision.NotBefore = m.steady, 0, c.Now()
				}
				got, ok := r.RestartNow(key)
				if ok != want || ok && !cmp.Equal(got, rec.decision) {
					t.Fatalf("woke %v %v", got, ok)
				}
			},
			"started": func(t *rapid.T) {
				key, run := keys.Draw(t, "key"), rapid.Int64Range(0, 20).Draw(t, "run")
				r.Started(key, run)
				if rec := m.keys[key]; rec != nil && rec.pending() && (run == 0 || run > rec.last.Run) {
					rec.started = true
				}
			},
			"reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				r.Reset(key)
				delete(m.keys, key)
			},
			"gc": func(t *rapid.T) {
				r.GC()
				for key := range m.keys {
					if _, ok := r.State(key); !ok { // see TestRestarterGCDropsKeysOnTime for which
						delete(m.keys, key)
					}
				}
			},
			"kill": func(t *rapid.T) {
				other := newRestarter(t, policy, options)
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				var saved map[string]backoff.RestarterState
				if err := json.Unmarshal(text, &saved); err != nil {
					t.Fatal(err)
				}
				whole := rapid.Bool().Draw(t, "whole")
				if whole {
					if err := json.Unmarshal(text, other); err != nil {
						t.Fatal(err)
					}
				}
				for key, s := range r.All() {
					if !whole {
						if err := other.Restore(key, saved[key]); err != nil {
							t.Fatal(err)
						}
					}
					again, _ := other.State(key)
					if diff := cmp.Diff(s, again, cmpopts.EquateEmpty()); diff != "" {
						t.Fatal(diff)
					}
					// What lay in the future was held to the clock; from here on NotBefore counts.
					rec, back := m.keys[key], saved[key]
					rec.ended, rec.decision.NotBefore = earlierOf(rec.ended, c.Now()), back.Decision.NotBefore
					if !back.Last.Finished.Equal(rec.ended) {
						t.Fatalf("%s: stored as finished at %v, want %v", key, back.Last.Finished, rec.ended)
					}
					rec.history = back.History
					rec.due = m.steady.Add(back.Decision.NotBefore.Sub(c.Now()))
				}
				r = other
			},
			"": func(t *rapid.T) {
				if r.Len() != len(m.keys) {
					t.Fatalf("%d keys, want %d", r.Len(), len(m.keys))
				}
				var due []string
				last := time.Duration(0)
				for key, d := range r.Due(c.Now()) {
					due = append(due, key)
					left := r.Remaining(key)
					if got := d.Remaining(c.Now()); got != left || left < last {
						t.Fatalf("due %s: %v left, by the decision %v, after one with %v", key, left, got, last)
					}
					last = left
				}
				for key, rec := range m.keys {
					if slices.Contains(due, key) != rec.pending() {
						t.Fatalf("%s: due %v, started %v, decision %+v", key, due, rec.started, rec.decision)
					}
					if got, want := r.Remaining(key), m.remaining(key); got != want {
						t.Fatalf("%s: remaining %v, want %v", key, got, want)
					}
					s, _ := r.State(key)
					if s.Decision.Failures != rec.decision.Failures || len(s.Recent) > options.Limit || len(s.History) != len(rec.history) || len(s.Rules) != len(rec.rules) {
						t.Fatalf("%s: state %+v", key, s)
					}
					for i, o := range s.History {
						if w := rec.history[i]; o.Exit.Code != w.Exit.Code || o.Decision.Action != w.Decision.Action || o.Decision.Failures != w.Decision.Failures {
							t.Fatalf("%s: history %+v, want %+v", key, s.History, rec.history)
						}
					}
					if err := s.Validate(c.Now()); err != nil {
						t.Fatalf("%s: %v", key, err)
					}
				}
			},
		})
	})
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
