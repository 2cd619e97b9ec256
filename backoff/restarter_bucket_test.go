package backoff

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// valid checks the second invariant, from scratch.
func (b *bucket) valid() error {
	spent := b.spent
	for i, k := range b.booked {
		if i > 0 && k.at < b.booked[i-1].at || k.spent != spent {
			return fmt.Errorf("booking %d: %+v, want spent %d", i, k, spent)
		}
		spent = add(max(spent, k.at), b.interval)
	}
	latest := time.Duration(math.MaxInt64)
	for i, k := range slices.Backward(b.booked) {
		latest = add(min(latest, k.at), -b.interval)
		if k.latest != latest {
			return fmt.Errorf("booking %d: %+v, want latest %d", i, k, latest)
		}
	}
	return nil
}

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

// Whatever is booked and cancelled, the instants keep to the rate, and each was
// the earliest that does.
func TestBucketKeepsToItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(0, 4).Draw(t, "burst")
		b := newBucket(1e8, burst) // one per 10 ns
		burst = max(burst, 1)
		var given []time.Duration
		now := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 60).Draw(t, "by")) },
			"book": func(t *rapid.T) {
				from := now + time.Duration(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 100)).Draw(t, "from"))
				at := b.book(now, from)
				if at < from {
					t.Fatalf("booked %d before %d", at, from)
				}
				for sooner := from; sooner < at; sooner++ {
					if fits(append(slices.Clone(given), sooner), 10, burst) {
						t.Fatalf("booked %d, but %d was free among %d", at, sooner, given)
					}
				}
				given = append(given, at)
			},
			"cancel": func(t *rapid.T) {
				if len(given) == 0 {
					return
				}
				i := rapid.IntRange(0, len(given)-1).Draw(t, "which")
				b.cancel(now, given[i])
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
				if len(b.booked) < ahead || len(b.booked) > len(given) {
					t.Fatalf("%d booked of %d ahead", len(b.booked), ahead)
				}
				if err := b.valid(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// A bucket starts full, refills, and forgets what has passed.
func TestBucketGivesTheFirstFreeTurn(t *testing.T) {
	b := newBucket(2, 3)
	var got []time.Duration
	for range 5 {
		got = append(got, b.book(0, 0))
	}
	got = append(got, b.book(0, 300*second), b.book(0, 5*second)) // booked later, due earlier
	for range 4 {
		got = append(got, b.book(20*second, 20*second)) // full again
	}
	want := []time.Duration{0, 0, 0, second / 2, second, 300 * second, 5 * second, 20 * second, 20 * second, 20 * second, 20*second + second/2}
	if !slices.Equal(got, want) {
		t.Errorf("booked %v, want %v", got, want)
	}
	if b.book(400*second, 400*second); len(b.booked) != 1 {
		t.Errorf("%d booked", len(b.booked))
	}
}

// Rates of any size and instants at the end of time neither wrap nor panic.
func TestBucketSaturates(t *testing.T) {
	for _, rate := range []float64{math.SmallestNonzeroFloat64, 1e-9, 3, 1e300, math.MaxFloat64} {
		for _, burst := range []int{0, 2, math.MaxInt} {
			b := newBucket(rate, burst)
			for _, now := range []time.Duration{math.MinInt64, -1, 0, math.MaxInt64} {
				for _, from := range []time.Duration{now, math.MaxInt64} {
					if at := b.book(now, from); at < from {
						t.Errorf("rate %v, burst %d: %d before %d", rate, burst, at, from)
					}
				}
			}
		}
	}
}
