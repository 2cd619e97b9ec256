package backoff

import (
	"time"
	"unsafe"

	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// Helpers of tests from inside and outside, and those for tests from inside alone.

const second = time.Second

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func fakeClock() *clocktesting.FakePassiveClock { return clocktesting.NewFakePassiveClock(t0) }

func step(c *clocktesting.FakePassiveClock, d time.Duration) { c.SetTime(c.Now().Add(d)) }

// SystemClock is like the real clock: its times have a monotonic reading, and its
// wall clock can be set.
type SystemClock struct {
	start   time.Time
	Elapsed time.Duration // monotonic
	Set     time.Duration // whole seconds
}

func NewSystemClock() *SystemClock { return &SystemClock{start: time.Now()} }

func (c *SystemClock) Now() time.Time                  { return SetWall(c.start.Add(c.Elapsed), c.Set) }
func (c *SystemClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *SystemClock) Wall() time.Time                 { return c.Now().Round(0) }

// SetWall moves the wall clock reading of t by whole seconds and leaves its monotonic
// reading, like time.Now after the wall clock was set.
func SetWall(t time.Time, by time.Duration) time.Time {
	type layout struct {
		wall uint64 // 1 bit, 33 bits of seconds, 30 bits of nanoseconds
		ext  int64
		loc  *time.Location
	}
	(*layout)(unsafe.Pointer(&t)).wall += uint64(by/time.Second) << 30
	return t
}

// ClockSettings draws how far a wall clock is set, a second at least.
func ClockSettings() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.OneOf(rapid.SampledFrom([]int{-86400, 86400, -1, 1, 0}), rapid.IntRange(-1e6, 1e6)),
		func(s int) time.Duration { return time.Duration(s) * second })
}

// Distances draws signed durations: small ones, days, the ends of time.
func Distances() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		d := rapid.OneOf(
			rapid.SampledFrom([]time.Duration{0, 1, second, 10 * second, 300 * second, 305 * second, 600 * second, 600*second + 1, 24 * time.Hour}),
			rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "d"))
			}),
		).Draw(t, "distance")
		if rapid.IntRange(0, 2).Draw(t, "back") == 0 {
			return -d
		}
		return d
	})
}
