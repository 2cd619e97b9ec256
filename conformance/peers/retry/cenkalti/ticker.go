package backoff

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
)

// Ticker is a Retry that sends the time instead of calling a function, and never succeeds.
type Ticker struct {
	C <-chan time.Time

	timer timer // a test sets it
	stop  context.CancelFunc
}

func NewTicker(b BackOff) *Ticker {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan time.Time)
	t := &Ticker{C: c, stop: cancel}
	onTimer := func(o *retryOptions) { o.Clock = timerClock{timer: &t.timer} }
	go func() {
		defer close(c)
		Retry(ctx, func() (any, error) {
			select {
			case c <- time.Now():
			case <-ctx.Done():
			}
			return nil, errors.New("tick")
		}, WithBackOff(b), WithMaxElapsedTime(0), onTimer)
	}()
	return t
}

func (t *Ticker) Stop() { t.stop() }

// timer is what the tests implement.
type timer interface {
	Start(time.Duration)
	Stop()
	C() <-chan time.Time
}

//lint:ignore U1000 the tests use it
func withTimer(t timer) RetryOption {
	return func(o *retryOptions) { o.Clock = timerClock{timer: &t} }
}

// timerClock is the real clock with another timer.
type timerClock struct {
	clock.RealClock
	timer *timer // nil in there means the real one
}

func (c timerClock) NewTimer(d time.Duration) clock.Timer {
	if *c.timer == nil {
		return c.RealClock.NewTimer(d)
	}
	(*c.timer).Start(d)
	return clockTimer{*c.timer}
}

type clockTimer struct{ timer timer }

func (t clockTimer) C() <-chan time.Time        { return t.timer.C() }
func (t clockTimer) Stop() bool                 { t.timer.Stop(); return true }
func (t clockTimer) Reset(d time.Duration) bool { t.timer.Start(d); return true }
