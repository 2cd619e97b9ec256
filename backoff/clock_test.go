package backoff

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// systemClock is like the real clock: its times have a monotonic reading, and its
// wall clock can be set.
type systemClock struct {
	start   time.Time
	elapsed time.Duration // monotonic
	set     time.Duration // whole seconds
}

func newSystemClock() *systemClock { return &systemClock{start: time.Now()} }

func (c *systemClock) Now() time.Time                  { return setWall(c.start.Add(c.elapsed), c.set) }
func (c *systemClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *systemClock) wall() time.Time                 { return c.Now().Round(0) }

// setWall moves the wall clock reading of t by whole seconds and leaves its
// monotonic one: what time.Now returns once the wall clock was set.
func setWall(t time.Time, by time.Duration) time.Time {
	type layout struct {
		wall uint64 // 1 bit, 33 bits of seconds, 30 bits of nanoseconds
		ext  int64
		loc  *time.Location
	}
	(*layout)(unsafe.Pointer(&t)).wall += uint64(by/time.Second) << 30
	return t
}

func TestSettingTheClockMovesOnlyItsWall(t *testing.T) {
	c := newSystemClock()
	before := c.Now()
	c.elapsed, c.set = 5*second, -24*time.Hour
	if got := c.Now().Sub(before); got != 5*second {
		t.Errorf("monotonic: %v", got)
	}
	if got := c.wall().Sub(before.Round(0)); got != 5*second-24*time.Hour {
		t.Errorf("wall: %v", got)
	}
}

// clockSettings draws how far a wall clock is set, a second at least.
func clockSettings() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.OneOf(rapid.SampledFrom([]int{-86400, 86400, -1, 1, 0}), rapid.IntRange(-1e6, 1e6)),
		func(s int) time.Duration { return time.Duration(s) * second })
}

// A wall clock that is set changes no answer of a Tracker, whether events carry a
// monotonic reading or only the wall clock's.
func TestSetWallClockChangesNoTracker(t *testing.T) {
	for _, strip := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			c := newSystemClock()
			now := func() time.Time {
				if strip {
					return c.wall()
				}
				return c.Now()
			}
			tr := newTracker(t, CrashLoop(), TrackerOptions{Clock: c})
			failures := rapid.IntRange(1, 6).Draw(t, "failures")
			for n := range failures {
				c.set += clockSettings().Draw(t, "set while running")
				c.elapsed += seconds(rapid.SampledFrom([]int{0, 5, 300, 600}).Draw(t, "ran"))[0]
				finished, delay := now(), tr.Get("a")
				if got := tr.Remaining("a", finished); got != delay {
					t.Fatalf("after failure %d: %v of %v remain", n+1, got, delay)
				}
				if !strip { // a wall clock's event is placed by its clock at the time of the report
					c.set += clockSettings().Draw(t, "set while waiting")
				}
				c.elapsed += delay
				if delay > 0 {
					c.elapsed--
					if !tr.IsInBackOffSince("a", finished) {
						t.Fatalf("after failure %d: let go too early", n+1)
					}
					c.elapsed++
				}
				if tr.IsInBackOffSince("a", finished) {
					t.Fatalf("after failure %d: held too long", n+1)
				}
				tr.Next("a", finished)
				if s, _ := tr.State("a"); s.Failures != n+1 || !s.Updated.Equal(c.wall()) {
					t.Fatalf("after failure %d: %+v at %v", n+1, s, c.wall())
				}
			}
			c.elapsed += 600*second + 1
			if tr.Next("a", now()); tr.Get("a") != 10*second {
				t.Fatal("a run longer than ResetAfter does not start over")
			}
		})
	}
}

// A state survives into a process that starts when the wall clock was set by less
// than a Tracker notices.
func TestSmallClockStepRefusesNoState(t *testing.T) {
	c := newSystemClock()
	tr := newTracker(t, CrashLoop(), TrackerOptions{Clock: c})
	tr.Next("a", c.Now())
	s, _ := tr.State("a")
	for ahead, ok := range map[time.Duration]bool{0: true, second - 1: true, second: false} {
		later := s
		later.Updated = s.Updated.Add(ahead)
		if err := newTracker(t, CrashLoop(), TrackerOptions{Clock: c}).Restore("a", later); (err == nil) != ok {
			t.Errorf("%v ahead: %v", ahead, err)
		}
	}
}

// Nor does it change a decision of a Restarter, or the length of a wait.
func TestSetWallClockChangesNoRestarter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newSystemClock()
		r := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Rate: 1, Burst: 5, Limit: 10, Window: time.Hour})
		for n := range rapid.IntRange(1, 6).Draw(t, "failures") {
			started := c.Now()
			c.set += clockSettings().Draw(t, "set while running")
			c.elapsed += 5 * second
			d := r.Exited("a", ExitPolicy{}, Exit{Run: int64(n), Code: 1, Started: started, Finished: c.Now()})
			want := CrashLoop().Delay(n + 1)
			if d.Delay != want || !d.NotBefore.Equal(c.wall().Add(want)) {
				t.Fatalf("failure %d at %v: %+v", n+1, c.wall(), d)
			}
			c.elapsed += want - 1
			c.set += clockSettings().Draw(t, "set while waiting")
			if got := r.Remaining("a"); got != 1 {
				t.Fatalf("failure %d: %v remain", n+1, got)
			}
			s, _ := r.State("a")
			if err := s.validate(c.Now()).Err(); err != nil {
				t.Fatal(err)
			}
			c.elapsed++
		}
	})
}

// An instant and its time turn into each other.
func TestTimescaleInvertsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		system, fake := newSystemClock(), fakeClock()
		real, plain := newTimescale(system), newTimescale(fake)
		if !real.monotonic || plain.monotonic {
			t.Fatalf("monotonic: %v, %v", real.monotonic, plain.monotonic)
		}
		d := distances().Draw(t, "distance")
		system.elapsed += distances().Draw(t, "elapsed").Abs()
		system.set += clockSettings().Draw(t, "set")
		for _, s := range []timescale{real, plain} {
			if got := s.instant(s.time(d)); got != d {
				t.Fatalf("%v becomes %v", d, got)
			}
			if now := s.time(s.now()); !now.Equal(s.clock.Now()) {
				t.Fatalf("now is %v on the clock, %v on the scale", s.clock.Now(), now)
			}
		}
	})
}

// Steady time goes on as the clock does, and a step back leaves it where it is.
func TestSteadyTimeNeverGoesBack(t *testing.T) {
	c := fakeClock()
	s := newSteady(c)
	for i, tt := range []struct{ by, want time.Duration }{
		{0, 0}, {second, second}, {-24 * time.Hour, second}, {second, 2 * second},
		{24 * time.Hour, 24*time.Hour + 2*second}, {-1, 24*time.Hour + 2*second}, {1, 24*time.Hour + 2*second + 1},
	} {
		step(c, tt.by)
		if clockTime, got := s.now(); got != tt.want || !clockTime.Equal(c.Now()) {
			t.Errorf("step %d: %v at %v, want %v", i, got, clockTime, tt.want)
		}
	}
}

// A clock that flips between two years, any number of times, ends what is under way each
// time that it goes ahead, for so it says; but waits, limits and turns go on as ever.
func TestClockThatFlips(t *testing.T) {
	for _, away := range []time.Duration{60 * year, 146 * year, 292 * year} {
		c := fakeClock()
		rated := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Rate: 0.1, Burst: 2})
		limited := newRestarter(t, CrashLoop(), RestarterOptions[string]{Clock: c, Limit: 2, Window: time.Hour})
		p := ExitPolicy{Rules: Rules{{Action: ActionRestart, ExitCodes: &ExitCodes{Operator: OperatorIn, Values: []int32{2}}, Limit: 1, Window: time.Hour}}}
		run := int64(0)
		for i := range 50 {
			delay := CrashLoop().Delay(i + 1)
			for k, turn := range seconds(0, 0, 10, 20) {
				key := fmt.Sprint(k)
				d := rated.Exited(key, p, Exit{Run: int64(i + 1), Code: 1, Finished: c.Now()})
				if left := rated.Remaining(key); d.Delay != delay+turn || left != d.Delay {
					t.Fatalf("%v, flip %d: key %s waits %v of %v, want %v", away, i, key, left, d.Delay, delay+turn)
				}
			}
			step(c, delay)
			for k, turn := range seconds(0, 0, 10, 20) {
				if left := rated.Remaining(fmt.Sprint(k)); left != turn {
					t.Fatalf("%v, flip %d: key %d waits %v more, want %v", away, i, k, left, turn)
				}
			}
			for k, want := range []Action{ActionRestart, ActionRestart, ActionRestart, ActionGiveUp, ActionGiveUp} {
				run++
				if d := limited.Exited("a", p, Exit{Run: run, Code: int32(1 + k%2)}); d.Action != want {
					t.Fatalf("%v, flip %d: exit %d: %+v, want %s", away, i, k, d, want)
				}
			}
			for _, r := range []*Restarter[string]{rated, limited} {
				if r.GC() != 0 {
					t.Fatalf("%v, flip %d: dropped too early", away, i)
				}
			}
			step(c, -away)
			rated.Remaining("0")
			limited.Remaining("a")
			step(c, away)
		}
		if n := rated.GC(); n != 4 {
			t.Errorf("%v: %d dropped", away, n)
		}
	}
}

func TestSumsSaturate(t *testing.T) {
	const lo, hi = -1 << 63, 1<<63 - 1
	for _, tt := range []struct{ a, b, sum, difference time.Duration }{
		{1, 2, 3, -1},
		{hi, 1, hi, hi - 1},
		{hi, -1, hi - 1, hi},
		{lo, 1, lo + 1, lo},
		{lo, -1, lo, lo + 1},
		{-2, hi, hi - 2, lo + 0},
		{0, lo, lo, hi},
		{-5, lo, lo, hi}, // out of reach
	} {
		if got := add(tt.a, tt.b); got != tt.sum {
			t.Errorf("%d + %d = %d, want %d", tt.a, tt.b, got, tt.sum)
		}
		if got := subtract(tt.a, tt.b); got != tt.difference {
			t.Errorf("%d - %d = %d, want %d", tt.a, tt.b, got, tt.difference)
		}
	}
}
