package backoff_test

import (
	"encoding/json"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// modelTracker is the rules of a Tracker, spelled out over a plain map.
type modelTracker struct {
	policy  backoff.Policy
	expired func(event, updated time.Time, max time.Duration) bool
	rand    func() float64
	keys    map[string]backoff.TrackerState
}

// since is the instant an event counts as, and whether anything can be held back
// at all.
func (m modelTracker) since(s backoff.TrackerState, event, now time.Time) (time.Time, bool) {
	if !event.After(now) {
		return event, true
	}
	return s.Updated, !s.Updated.After(now)
}

func (m modelTracker) next(key string, event, now time.Time) {
	s, ok := m.keys[key]
	if ok {
		event, _ = m.since(s, event, now)
		ok = !m.expired(event, s.Updated, m.policy.Max)
	}
	if !ok {
		s.Failures = 0
	}
	if s.Failures < math.MaxInt {
		s.Failures++
	}
	if s.Delay = m.policy.Delay(s.Failures); m.policy.Jitter > 0 && s.Delay > 0 {
		s.Delay = m.policy.Jittered(s.Delay, m.rand())
	}
	s.Updated = now
	m.keys[key] = s
}

func (m modelTracker) remaining(key string, event, now time.Time) time.Duration {
	s, ok := m.keys[key]
	if !ok {
		return 0
	}
	event, holds := m.since(s, event, now)
	if !holds || m.expired(event, s.Updated, m.policy.Max) || now.Sub(event) >= s.Delay {
		return 0
	}
	return s.Delay - now.Sub(event)
}

func (m modelTracker) inBackOffSinceUpdate(key string, at, now time.Time) bool {
	s, ok := m.keys[key]
	if !ok || m.expired(at, s.Updated, m.policy.Max) || s.Delay == 0 {
		return false
	}
	if at.Before(s.Updated) && now.Before(s.Updated) {
		return false
	}
	return at.Sub(s.Updated) < s.Delay
}

// trackerPolicies draws policies with the delays and thresholds that instants()
// hits, or of any size.
func trackerPolicies() *rapid.Generator[backoff.Policy] {
	return rapid.OneOf(policies(), rapid.SampledFrom([]backoff.Policy{
		backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.ImagePull(), backoff.CrashLoop().WithMax(second),
		{Initial: second, Max: 300 * second, Jitter: 0.5},
		{Initial: second, Max: 10 * second, Factor: 1, FreeFailures: 2},
	}))
}

// A Tracker answers like the model under any clock and events, also after its state
// went through JSON into another Tracker.
func TestTrackerAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := trackerPolicies().Draw(t, "policy")
		c := fakeClock()
		flat := rapid.Bool().Draw(t, "custom expiry")
		expired := func(event, updated time.Time, max time.Duration) bool {
			return event.Sub(updated) > policy.ResetThreshold()
		}
		// Both sides draw the same jitter: a fixed fraction per draw.
		draw := func() func() float64 {
			i := 0
			return func() float64 { i++; return float64(i%7) / 7 }
		}
		options := backoff.TrackerOptions{Clock: c, Rand: draw()}
		if flat {
			expired = func(event, updated time.Time, max time.Duration) bool { return event.Sub(updated) > max }
			options.Expired = expired
		}
		model := modelTracker{policy: policy, expired: expired, rand: draw(), keys: map[string]backoff.TrackerState{}}
		tr := newTracker(t, policy, options)
		keys := rapid.SampledFrom([]string{"a", "b", "c"})
		event := func(t *rapid.T) time.Time {
			if rapid.IntRange(0, 20).Draw(t, "zero") == 0 {
				return time.Time{}
			}
			base := c.Now()
			if s, ok := model.keys[keys.Draw(t, "of")]; ok && rapid.Bool().Draw(t, "near update") {
				base = s.Updated
			}
			return base.Add(backoff.Distances().Draw(t, "event"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"next": func(t *rapid.T) {
				k, e := keys.Draw(t, "key"), event(t)
				tr.Next(k, e)
				model.next(k, e, c.Now())
			},
			"when": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				delay := tr.RateLimiter().When(k)
				model.next(k, c.Now(), c.Now())
				if want := model.keys[k]; delay != want.Delay || tr.RateLimiter().NumRequeues(k) != want.Failures {
					t.Fatalf("When: %v, %d requeues, want %v, %d", delay, tr.RateLimiter().NumRequeues(k), want.Delay, want.Failures)
				}
			},
			"reset":  func(t *rapid.T) { k := keys.Draw(t, "key"); tr.Reset(k); delete(model.keys, k) },
			"forget": func(t *rapid.T) { k := keys.Draw(t, "key"); tr.RateLimiter().Forget(k); delete(model.keys, k) },
			"step":   func(t *rapid.T) { step(c, backoff.Distances().Draw(t, "step")) },
			"ask": func(t *rapid.T) {
				k, e := keys.Draw(t, "key"), event(t)
				want := model.remaining(k, e, c.Now())
				if got := tr.Remaining(k, e); got != want || got < 0 || got > tr.Get(k) {
					t.Fatalf("Remaining: %v, want %v of %v", got, want, tr.Get(k))
				}
				if got := tr.IsInBackOffSince(k, e); got != (want > 0) {
					t.Fatalf("IsInBackOffSince: %v with %v left", got, want)
				}
				if got, want := tr.IsInBackOffSinceUpdate(k, e), model.inBackOffSinceUpdate(k, e, c.Now()); got != want {
					t.Fatalf("IsInBackOffSinceUpdate: %v, want %v", got, want)
				}
			},
			"migrate": func(t *rapid.T) {
				for _, s := range model.keys {
					if s.Updated.After(c.Now()) {
						return // refused, see TestTrackerRefusesImpossibleStates
					}
				}
				o := options
				o.Clock = clocktesting.NewFakePassiveClock(c.Now().Add(backoff.Distances().Draw(t, "other base")))
				other := newTracker(t, policy, o)
				o.Clock.(*clocktesting.FakePassiveClock).SetTime(c.Now())
				for k, s := range tr.All() {
					text, err := json.Marshal(s)
					if err != nil {
						t.Fatal(err)
					}
					var back backoff.TrackerState
					if err := json.Unmarshal(text, &back); err != nil {
						t.Fatal(err)
					}
					if err := other.Restore(k, back); err != nil {
						t.Fatal(err)
					}
				}
				tr, c = other, o.Clock.(*clocktesting.FakePassiveClock)
			},
			"": func(t *rapid.T) {
				all := maps.Collect(tr.All())
				if diff := cmp.Diff(model.keys, all); diff != "" {
					t.Fatal(diff)
				}
				if err := tr.Valid(); err != nil {
					t.Fatal(err)
				}
				if tr.Len() != len(all) {
					t.Fatalf("Len is %d of %d", tr.Len(), len(all))
				}
				for k, s := range all {
					if one, ok := tr.State(k); !ok || one != s {
						t.Fatalf("State(%s) is %v, in All %v", k, one, s)
					}
					if s.Delay < 0 || s.Delay > policy.Max || tr.Get(k) != s.Delay {
						t.Fatalf("delay %d, Get %d, maximum %d", s.Delay, tr.Get(k), policy.Max)
					}
				}
			},
		})
	})
}
