package backoff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fits reports whether every window of instants keeps to the rate, by looking at
// each pair.
func fits(instants []time.Duration, interval time.Duration, burst int) bool {
	all := slices.Sorted(slices.Values(instants))
	for i := range all {
		for j := i; j < len(all); j++ {
			if time.Duration(j-i+1-burst)*interval > all[j]-all[i] {
				return false
			}
		}
	}
	return true
}

// everyTen is a rate of one start per 10 ns, at t0.
func everyTen(burst int) *rate { return newRate(1e8, burst, t0) }

// bookAt books a slot at or after from, both from t0.
func (r *rate) bookAt(now, from time.Duration) time.Duration {
	slot, _ := r.book(t0.Add(now), from-now)
	return slot
}

// After any bookings and cancellations, slots keep to the rate, and each was the first
// possible one.
func TestSlotsKeepToTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(0, 4).Draw(t, "burst")
		r := everyTen(burst)
		burst = max(burst, 1)
		var given []time.Duration
		now := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 60).Draw(t, "by")) },
			"book": func(t *rapid.T) {
				from := now + time.Duration(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 100)).Draw(t, "from"))
				slot, until := r.book(t0.Add(now), from-now)
				if slot < from || until != slot-now {
					t.Fatalf("booked %d from %d, in %d", slot, from, until)
				}
				for sooner := from; sooner < slot; sooner++ {
					if fits(append(slices.Clone(given), sooner), 10, burst) {
						t.Fatalf("booked %d, but %d was free among %d", slot, sooner, given)
					}
				}
				given = append(given, slot)
			},
			"cancel": func(t *rapid.T) {
				if len(given) == 0 {
					return
				}
				i := rapid.IntRange(0, len(given)-1).Draw(t, "which")
				r.cancel(t0.Add(now), given[i])
				if given[i] > now {
					given = slices.Delete(given, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				if !fits(given, 10, burst) {
					t.Fatalf("%d break the rate", given)
				}
				ahead := 0
				for _, at := range given {
					if at > now {
						ahead++
					}
				}
				if n := len(r.booked); n < ahead || n > len(given) || !slices.IsSorted(r.booked) {
					t.Fatalf("%d booked of %d ahead: %v", n, ahead, r.booked)
				}
			},
		})
	})
}

// A bucket starts full, refills, and forgets the slots that have passed.
func TestRateGivesTheFirstFreeSlot(t *testing.T) {
	r := newRate(2, 3, t0)
	var got []time.Duration
	for range 5 {
		got = append(got, r.bookAt(0, 0))
	}
	got = append(got, r.bookAt(0, 300*second), r.bookAt(0, 5*second)) // booked later, due earlier
	for range 4 {
		got = append(got, r.bookAt(20*second, 20*second)) // full again
	}
	want := []time.Duration{0, 0, 0, second / 2, second, 300 * second, 5 * second, 20 * second, 20 * second, 20 * second, 20*second + second/2}
	if !slices.Equal(got, want) {
		t.Errorf("booked %v, want %v", got, want)
	}
	if r.bookAt(400*second, 400*second); len(r.booked) != 1 {
		t.Errorf("booked %v", r.booked)
	}
}

// Nobody waits for a clock that goes back.
func TestRateUnderAClockThatIsSetBack(t *testing.T) {
	r := newRate(1, 1, t0)
	for n := range 5 {
		now := t0.Add(-time.Duration(n) * time.Hour)
		if _, until := r.book(now, 0); until != time.Duration(n)*second {
			t.Errorf("booking %d: in %v", n, until)
		}
	}
}

// Callers that read the clock before others and get the lock after them gain nothing.
func TestRateWithReadingsOutOfOrder(t *testing.T) {
	base := NewSystemClock().Now() // with a monotonic reading
	r := newRate(1000, 1, base)
	const n = 1000
	for i := range n {
		now := base.Add(time.Duration(i)*time.Microsecond - time.Duration(i%2)*100*time.Microsecond)
		r.book(now, 0)
	}
	if last := r.booked[len(r.booked)-1]; last != (n-1)*time.Millisecond {
		t.Errorf("the last of %d starts is at %v", n, last)
	}
}

// Extreme rates and instants neither wrap around nor panic.
func TestRateSaturates(t *testing.T) {
	for _, perSecond := range []float64{math.SmallestNonzeroFloat64, 1e-9, 3, 1e300, math.MaxFloat64} {
		for _, burst := range []int{0, 2, math.MaxInt} {
			r := newRate(perSecond, burst, t0)
			for _, now := range []time.Duration{math.MinInt64, -1, 0, math.MaxInt64} {
				for _, wait := range []time.Duration{math.MinInt64, 0, math.MaxInt64} {
					if _, until := r.book(t0.Add(now), wait); until < 0 {
						t.Errorf("rate %v, burst %d: in %v", perSecond, burst, until)
					}
				}
			}
		}
	}
}

// BenchmarkBook books a slot among as many as wait, and gives one back.
func BenchmarkBook(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint("waiting=", n), func(b *testing.B) {
			r := newRate(1, 10, t0)
			slots := make([]time.Duration, n)
			for i := range slots {
				slots[i], _ = r.book(t0, 0)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				i := random.IntN(n)
				r.cancel(t0, slots[i])
				slots[i], _ = r.book(t0, time.Minute)
			}
		})
	}
}
