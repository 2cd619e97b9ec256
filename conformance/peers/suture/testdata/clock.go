package suture

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// afterClock is the real clock with timers that tests replace. A timer that fires early
// moves the clock on.
type afterClock struct {
	clock.RealClock
	s     *Supervisor
	m     sync.Mutex
	ahead time.Duration
}

func (c *afterClock) Now() time.Time {
	c.m.Lock()
	defer c.m.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *afterClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *afterClock) fired(due time.Time) {
	early := due.Sub(c.Now())
	c.m.Lock()
	defer c.m.Unlock()
	c.ahead += max(early, 0)
}

func (c *afterClock) NewTimer(d time.Duration) clock.Timer {
	t := &afterTimer{clock: c, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

type afterTimer struct {
	clock   *afterClock
	c       chan time.Time
	stopped chan struct{}
}

func (t *afterTimer) C() <-chan time.Time { return t.c }

func (t *afterTimer) Stop() bool {
	close(t.stopped)
	return true
}

func (t *afterTimer) Reset(d time.Duration) bool {
	due, after, stopped := t.clock.Now().Add(d), t.clock.s.getAfterChan(d), make(chan struct{})
	t.stopped = stopped
	go func() {
		select {
		case at := <-after:
			t.clock.fired(due)
			t.c <- at
		case <-stopped:
		}
	}()
	return true
}
