package backoff

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimescaleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		system, fake := NewSystemClock(), fakeClock()
		real, plain := newTimescale(system), newTimescale(fake)
		if !real.monotonic || plain.monotonic {
			t.Fatalf("monotonic: %v, %v", real.monotonic, plain.monotonic)
		}
		d := Distances().Draw(t, "distance")
		system.Elapsed += Distances().Draw(t, "elapsed").Abs()
		system.Set += ClockSettings().Draw(t, "set")
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
