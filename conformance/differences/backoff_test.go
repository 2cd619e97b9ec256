package differences

import (
	"math"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
)

var _ workqueue.TypedRateLimiter[string] = backoff.RateLimiter[string]{}

// start is when every history begins.
var start = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// must returns v and panics on an error, for calls that cannot fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// expiry is a rule that starts a curve over.
type expiry = func(event, updated time.Time, max time.Duration) bool

// pair is a tracker of ours and a backoff of client-go's that share a clock.
type pair struct {
	clock  *clocktesting.FakeClock
	ours   *backoff.Tracker[string]
	theirs *flowcontrol.Backoff
}

// newPair makes both sides follow the policy, with the expiry rule unless it is
// nil.
func newPair(p backoff.Policy, expired expiry) pair {
	clock := clocktesting.NewFakeClock(start)
	theirs := flowcontrol.NewFakeBackOff(p.Initial, p.Max, clock)
	theirs.HasExpiredFunc = expired
	return pair{
		clock:  clock,
		ours:   must(backoff.NewTracker[string](p, backoff.TrackerOptions{Clock: clock, Expired: expired})),
		theirs: theirs,
	}
}

// rules are the expiry rules compared; nil is each side's default.
func rules() map[string]expiry {
	return map[string]expiry{
		"default": nil,
		"kubelet": func(event, updated time.Time, _ time.Duration) bool {
			return event.Sub(updated) > 600*time.Second
		},
		"of max": func(event, updated time.Time, max time.Duration) bool { return event.Sub(updated) >= max },
		"early":  func(event, updated time.Time, max time.Duration) bool { return event.Sub(updated) > max/4 },
		"never":  func(time.Time, time.Time, time.Duration) bool { return false },
	}
}

// TestBackoffDifferential drives both sides through random histories and compares
// every answer. Events are not later than the clock, and neither side collects;
// other tests pin what differs there.
func TestBackoffDifferential(t *testing.T) {
	const wanted = 100_000 // comparisons, all rules together
	compared := 0
	for name, expired := range rules() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := newHistory(t, expired)
				defer func() { compared += h.compared }()
				t.Repeat(map[string]func(*rapid.T){
					"next":    h.next,
					"reset":   h.reset,
					"advance": h.advance,
					"":        h.compare,
				})
			})
		})
	}
	t.Logf("%d comparisons", compared)
	if compared < wanted {
		t.Errorf("%d comparisons, want %d", compared, wanted)
	}
}

// TestBackoffDifferentialGC lets ours collect at any time and client-go never. No
// answer about a delay differs, nor does what follows from a Next, unless its event
// is longer ago than the delay and the reset threshold together.
func TestBackoffDifferentialGC(t *testing.T) {
	compared, dropped := 0, 0
	for name, expired := range rules() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := newHistory(t, expired)
				h.collecting = true
				defer func() { compared += h.compared }()
				t.Repeat(map[string]func(*rapid.T){
					"next":    h.next,
					"reset":   h.reset,
					"advance": h.advance,
					"gc":      func(*rapid.T) { dropped += h.ours.GC() },
					"rest":    h.rest,
					"":        h.compare,
				})
			})
		})
	}
	t.Logf("%d comparisons, %d entries dropped", compared, dropped)
	if compared == 0 || dropped == 0 {
		t.Error("nothing was compared or nothing was dropped")
	}
}

// drawPolicy draws a curve without jitter that client-go can follow without
// overflow, and short enough for a history to stay within the 292 years of a
// time.Duration.
func drawPolicy(t *rapid.T) backoff.Policy {
	initial := rapid.OneOf(
		rapid.Just(10*time.Second),
		rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second}),
		rapid.Map(rapid.Int64Range(1, int64(time.Hour)), duration),
	).Draw(t, "initial")
	return backoff.Policy{
		Initial: initial,
		Max: rapid.OneOf(
			rapid.SampledFrom([]time.Duration{initial, initial + 1, 2 * initial, 8 * initial, 30 * initial}),
			rapid.Map(rapid.Int64Range(int64(initial), int64(2400*time.Hour)), duration),
		).Draw(t, "max"),
	}
}

// history is a pair with what has happened to it.
type history struct {
	pair
	policy     backoff.Policy
	updated    map[string]time.Time // by key, the clock at its last Next
	collecting bool                 // ours may forget what does not matter
	compared   int
}

func newHistory(t *rapid.T, expired expiry) *history {
	p := drawPolicy(t)
	return &history{pair: newPair(p, expired), policy: p, updated: map[string]time.Time{}}
}

// drawSpan draws a stretch of time, mostly one at which an answer for the key may
// turn.
func (h *history) drawSpan(t *rapid.T, key string) time.Duration {
	delay := h.theirs.Get(key)
	span := rapid.OneOf(
		rapid.SampledFrom([]time.Duration{0, delay, h.policy.Max / 4, h.policy.Max, 2 * h.policy.Max, 600 * time.Second, 2*h.policy.Max + delay}),
		rapid.Map(rapid.Int64Range(0, 3*int64(h.policy.Max)), duration),
		rapid.Map(rapid.Int64Range(0, 2*int64(delay)), duration),
	).Draw(t, "span")
	return max(0, span+time.Duration(rapid.IntRange(-1, 1).Draw(t, "±")))
}

// drawEvent draws a time at or before the clock.
func (h *history) drawEvent(t *rapid.T, key string) time.Time {
	now := h.clock.Now()
	span := h.drawSpan(t, key)
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0:
		return time.Time{}
	case 1, 2, 3, 4: // counted from the entry, where expiry turns
		if event := h.updated[key].Add(span); !h.updated[key].IsZero() && event.Before(now) {
			return event
		}
	}
	return now.Add(-span)
}

func (h *history) next(t *rapid.T) {
	key := drawKey(t)
	event := h.drawEvent(t, key)
	if h.collecting {
		// Not longer ago than the delay and the threshold together.
		if oldest := h.clock.Now().Add(-h.theirs.Get(key) - 2*h.policy.Max); event.Before(oldest) {
			event = oldest
		}
	}
	h.ours.Next(key, event)
	h.theirs.Next(key, event)
	h.updated[key] = h.clock.Now()
}

func (h *history) reset(t *rapid.T) {
	key := drawKey(t)
	h.ours.Reset(key)
	h.theirs.Reset(key)
	delete(h.updated, key)
}

func (h *history) advance(t *rapid.T) { h.clock.Step(h.drawSpan(t, drawKey(t))) }

// rest lets about as much time pass as it takes to forget a key.
func (h *history) rest(t *rapid.T) {
	h.clock.Step(h.theirs.Get(drawKey(t)) + 2*h.policy.Max)
	h.advance(t)
}

// compare asks both sides about every key.
func (h *history) compare(t *rapid.T) {
	now := h.clock.Now()
	for _, key := range []string{"a", "b", "c"} {
		if _, known := h.ours.State(key); known || !h.collecting {
			agree(t, h, "Get", key, now, h.ours.Get(key), h.theirs.Get(key))
		}
		for range 3 {
			event := h.drawEvent(t, key)
			agree(t, h, "IsInBackOffSince", key, event,
				h.ours.IsInBackOffSince(key, event), h.theirs.IsInBackOffSince(key, event))
			if h.collecting {
				event = now
			}
			agree(t, h, "IsInBackOffSinceUpdate", key, event,
				h.ours.IsInBackOffSinceUpdate(key, event), h.theirs.IsInBackOffSinceUpdate(key, event))
		}
	}
}

func drawKey(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key") }

func duration(n int64) time.Duration { return time.Duration(n) }

// agree counts a comparison and fails if the answers differ.
func agree[T comparable](t *rapid.T, h *history, call, key string, at time.Time, ours, theirs T) {
	h.compared++
	if ours != theirs {
		t.Fatalf("at %v: %s(%q, %v): ours %v, client-go's %v", h.clock.Now(), call, key, at, ours, theirs)
	}
}

// answer is what one side says of a key at an instant.
type answer struct {
	delay time.Duration // Get
	since bool          // IsInBackOffSince
}

// check compares both sides' answers about key with the pinned ones.
func (p pair) check(t *testing.T, step, key string, event time.Time, ours, theirs answer) {
	t.Helper()
	if got := (answer{p.ours.Get(key), p.ours.IsInBackOffSince(key, event)}); got != ours {
		t.Errorf("%s: ours %+v, want %+v", step, got, ours)
	}
	if got := (answer{p.theirs.Get(key), p.theirs.IsInBackOffSince(key, event)}); got != theirs {
		t.Errorf("%s: client-go's %+v, want %+v", step, got, theirs)
	}
}

// both counts a failure on both sides.
func (p pair) both(key string, event time.Time) {
	p.ours.Next(key, event)
	p.theirs.Next(key, event)
}

// TestBackoffDeviationInitial pins that client-go takes a first delay of 0 or less,
// with which it holds nothing back, and one above the maximum, which its first wait
// exceeds. Ours refuses both.
func TestBackoffDeviationInitial(t *testing.T) {
	const limit = 5 * time.Minute
	for _, tt := range []struct {
		initial       time.Duration
		first, second answer // client-go's, after one failure and after two
	}{
		{0, answer{0, false}, answer{0, false}},
		{-time.Second, answer{-time.Second, false}, answer{-2 * time.Second, false}},
		{limit + 1, answer{limit + 1, true}, answer{limit, true}},
	} {
		policy := backoff.Policy{Initial: tt.initial, Max: limit}
		if tr, err := backoff.NewTracker[string](policy, backoff.TrackerOptions{}); err == nil {
			t.Errorf("Initial %v is taken: %v", tt.initial, tr)
		}
		theirs := flowcontrol.NewFakeBackOff(tt.initial, limit, clocktesting.NewFakeClock(start))
		for failures, want := range []answer{tt.first, tt.second} {
			theirs.Next("key", start)
			if got := (answer{theirs.Get("key"), theirs.IsInBackOffSince("key", start)}); got != want {
				t.Errorf("initial %v, %d failures: client-go's %+v, want %+v", tt.initial, failures+1, got, want)
			}
		}
	}
}

// TestBackoffDeviationOverflow pins that without a cap client-go's delay turns
// negative at the 31st failure, and that twice a huge cap wraps, so that its curve
// never grows. Ours saturates.
func TestBackoffDeviationOverflow(t *testing.T) {
	uncapped := backoff.Policy{Initial: 10 * time.Second, Max: math.MaxInt64}
	p := newPair(uncapped, func(time.Time, time.Time, time.Duration) bool { return false })
	for range 30 {
		p.both("key", start)
	}
	last := 10 * time.Second << 29 // of the 30th failure
	p.check(t, "30 failures", "key", start, answer{last, true}, answer{last, true})
	p.both("key", start)
	wrapped := last * 2
	p.check(t, "31 failures", "key", start, answer{math.MaxInt64, true}, answer{wrapped, false})
	if wrapped >= 0 {
		t.Errorf("client-go's delay is %v, want a negative one", wrapped)
	}

	p = newPair(uncapped, nil)
	p.both("key", start)
	p.both("key", start)
	p.check(t, "2 failures", "key", start, answer{20 * time.Second, true}, answer{10 * time.Second, false})
}

// TestBackoffDeviationFutureEvent pins that an event later than the clock holds a
// key on client-go's side until the clock has caught up, or starts its curve over.
// On ours it counts as the entry's update.
func TestBackoffDeviationFutureEvent(t *testing.T) {
	p := newPair(backoff.CrashLoop(), nil)
	p.both("key", start)
	ahead := start.Add(5 * time.Minute)
	p.clock.SetTime(start.Add(9 * time.Second))
	p.check(t, "9 s later", "key", ahead, answer{10 * time.Second, true}, answer{10 * time.Second, true})
	p.clock.SetTime(start.Add(10 * time.Second))
	p.check(t, "10 s later", "key", ahead, answer{10 * time.Second, false}, answer{10 * time.Second, true})
	p.clock.SetTime(ahead.Add(-time.Nanosecond))
	p.check(t, "just before it", "key", ahead, answer{10 * time.Second, false}, answer{10 * time.Second, true})

	p.both("key", p.clock.Now().Add(time.Hour))
	p.check(t, "a failure an hour ahead", "key", p.clock.Now(), answer{20 * time.Second, true}, answer{10 * time.Second, true})
}

// TestBackoffDeviationClockSetBack pins that on client-go's side a clock that was
// set back by a day holds a key for a day. Ours lets it go.
func TestBackoffDeviationClockSetBack(t *testing.T) {
	p := newPair(backoff.CrashLoop(), nil)
	p.both("key", start)
	p.clock.SetTime(start.Add(-24 * time.Hour))
	p.check(t, "a day back", "key", start, answer{10 * time.Second, false}, answer{10 * time.Second, true})
	now := p.clock.Now()
	if p.ours.IsInBackOffSinceUpdate("key", now) || !p.theirs.IsInBackOffSinceUpdate("key", now) {
		t.Error("IsInBackOffSinceUpdate: want ours to let go and client-go to hold")
	}
}

// TestBackoffDeviationGC pins that client-go's GC forgets a container that crashes
// after running for 305 s while it waits for its next start. Ours does not.
func TestBackoffDeviationGC(t *testing.T) {
	p := newPair(backoff.CrashLoop(), rules()["kubelet"])
	for range 6 {
		p.both("key", start)
	}
	finished := start.Add(305 * time.Second) // started at the last Next, ran for 305 s
	p.clock.SetTime(start.Add(601 * time.Second))
	waiting := answer{300 * time.Second, true}
	p.check(t, "waiting", "key", finished, waiting, waiting)
	if n := p.ours.GC(); n != 0 {
		t.Errorf("GC dropped %d", n)
	}
	p.theirs.GC()
	p.check(t, "after GC", "key", finished, waiting, answer{0, false})
	p.clock.SetTime(finished.Add(300 * time.Second))
	p.both("key", finished)
	p.check(t, "next start", "key", p.clock.Now(), answer{300 * time.Second, true}, answer{10 * time.Second, true})
}
