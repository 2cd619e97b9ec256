package backoff

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// turns are the booked instants, in order.
func (b *bucket) turns() (all []time.Duration) {
	var walk func(*turn)
	walk = func(t *turn) {
		if t != nil {
			walk(t.left)
			all = append(all, t.at)
			walk(t.right)
		}
	}
	walk(b.booked)
	return all
}

// valid checks the second invariant, from scratch.
func (b *bucket) valid() error {
	if all := b.turns(); !slices.IsSorted(all) {
		return fmt.Errorf("turns %d", all)
	}
	return b.booked.valid(&b.pace)
}

// valid checks that each turn ranks above those below it, and that each row sums up its
// turns.
func (t *turn) valid(p *pace) error {
	if t == nil {
		return nil
	}
	for _, below := range []*turn{t.left, t.right} {
		if below != nil && below.rank > t.rank {
			return fmt.Errorf("rank %d above %d", t.rank, below.rank)
		}
	}
	all := (&bucket{booked: t}).turns()
	n := time.Duration(len(all))
	want := row{n: len(all), spent: math.MinInt64, latest: math.MaxInt64, first: noGap, last: noGap}
	latest := make([]time.Duration, n+1) // behind the k-th
	latest[n] = math.MaxInt64
	for k := n - 1; k >= 0; k-- {
		latest[k] = min(latest[k+1], all[k]-(k+1)*p.interval)
	}
	want.latest = latest[0]
	for k := range n {
		want.spent = max(want.spent, all[k]-k*p.interval)
		if g := (gap{want.spent, latest[k+1]}); k+1 < n && g.spent-g.latest <= p.slack {
			if want.last = g; want.first == noGap {
				want.first = g
			}
		}
	}
	if t.row != want {
		return fmt.Errorf("%d are summed up as %+v, want %+v", all, t.row, want)
	}
	return errors.Join(t.left.valid(p), t.right.valid(p))
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

// After any bookings and cancellations, instants keep to the rate, and each was the
// earliest possible one.
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
				if n := len(b.turns()); n < ahead || n > len(given) {
					t.Fatalf("%d booked of %d ahead", n, ahead)
				}
				if err := b.valid(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// slowFirst returns the first instant at or after from that keeps to the rate among sorted
// ones. Only from, an instant given out, and one that its predecessors push ahead can be it.
func slowFirst(given []time.Duration, from, interval time.Duration, burst int) time.Duration {
	slack := time.Duration(burst-1) * interval
	// What is spent until each of them, and the latest from each on.
	spent, latest := make([]time.Duration, len(given)+1), make([]time.Duration, len(given)+1)
	spent[0], latest[len(given)] = math.MinInt64/2, math.MaxInt64/2
	for i, at := range given {
		spent[i+1] = max(spent[i], at) + interval
	}
	for i := len(given) - 1; i >= 0; i-- {
		latest[i] = min(latest[i+1], given[i]) - interval
	}
	for i := range len(given) + 1 {
		at := max(from, spent[i]-slack)
		if i > 0 {
			at = max(at, given[i-1])
		}
		if (i == len(given) || at <= given[i]) && at <= latest[i]+slack && spent[i] <= latest[i]+slack {
			return at
		}
	}
	panic("there is no last one")
}

// Long queues of all kinds return the first free instant. The work grows with the
// logarithm of the queue's length.
func TestBookingCostIsLogarithmic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	for _, burst := range []int{1, 2, 10, 1000} {
		for name, from := range map[string]func(*rand.Rand, int) int{
			"at once":        func(*rand.Rand, int) int { return 10 },
			"more than fits": func(rng *rand.Rand, n int) int { return rng.IntN(n * 5) },
			"sparse":         func(rng *rand.Rand, n int) int { return rng.IntN(n * 15) },
			"in bursts":      func(rng *rand.Rand, n int) int { return rng.IntN(n/100) * 1500 },
		} {
			short, long := queue(t, burst, 500, from), queue(t, burst, 4000, from)
			if t.Logf("%s, burst %d: %d turns looked at for each of 500, %d of 4,000", name, burst, short, long); long > 3*short {
				t.Errorf("%s, burst %d: %d turns looked at for each of 4,000, but %d of 500", name, burst, long, short)
			}
		}
	}
}

// queue books n turns, gives some of them up for others, and returns how many turns of the
// queue were looked at for each.
func queue(t *testing.T, burst, n int, from func(*rand.Rand, int) int) int {
	rng := rand.New(rand.NewPCG(1, 2))
	b := newBucket(1e8, burst) // one per 10 ns
	var given []time.Duration
	book := func(from time.Duration, check bool) {
		at := b.book(-1, from)
		if check {
			if want := slowFirst(given, from, 10, burst); at != want {
				t.Fatalf("burst %d: booked %d from %d, want %d", burst, at, from, want)
			}
		}
		i, _ := slices.BinarySearch(given, at)
		given = slices.Insert(given, i, at)
	}
	for i := range n {
		book(time.Duration(from(rng, n)), i%100 == 0)
	}
	for i := range n {
		k, next := n-1, 0 // the last is woken
		if i%2 == 0 {
			k, next = rng.IntN(n), from(rng, n)
		}
		b.cancel(-1, given[k])
		given = slices.Delete(given, k, k+1)
		book(time.Duration(next), i%100 == 0)
	}
	if err := b.valid(); err != nil || !slices.Equal(b.turns(), given) {
		t.Fatalf("burst %d: %v, or other turns than %d were given", burst, err, n)
	}
	return b.pace.visits / (3 * n)
}

// A bucket starts full, refills, and forgets past instants.
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
	if b.book(400*second, 400*second); len(b.turns()) != 1 {
		t.Errorf("booked %v", b.turns())
	}
}

// Extreme rates and instants neither wrap around nor panic.
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
