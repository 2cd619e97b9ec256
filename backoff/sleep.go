package backoff

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// sleeper waits by a clock, with one timer for all its waits. Timers are not shared
// between callers, because one made inside a bubble of testing/synctest must not leave
// it.
type sleeper struct {
	clock clock.Clock
	timer clock.Timer // nil before the first wait
}

// sleep waits for d, or until ctx is done or wake is closed. It returns the error of
// ctx. It may return early once after a wait that wake ended.
func (s *sleeper) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	switch {
	case d <= 0:
		return ctx.Err()
	case s.timer == nil:
		s.timer = s.clock.NewTimer(d)
	default:
		s.timer.Reset(d)
	}
	select {
	case <-s.timer.C():
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// stop releases the timer.
func (s *sleeper) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
