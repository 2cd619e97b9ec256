package backoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// ErrNoStart is the error of a Wait for a key that no passing of time lets start. Its text
// says why. A program reads it from the Action of the key's State: ActionStop after an exit
// that needs no restart, ActionGiveUp after a give-up. Any other Action means that the key
// was started and has not exited since, or that the policy of its last exit was invalid.
var ErrNoStart = errors.New("no start is allowed")

// Wait waits until CanStart allows a start of key, uses it up as Started does, and returns
// nil: start the key now. After a give-up that ends, Wait waits for its end. It follows
// changes by RestartNow, Forgive, Reset, Restore or another exit.
//
// If only another exit, Lost, Forgive, Reset or Restore can allow a start, as after a stop,
// a give-up that does not end, or a start already used up, Wait returns an error
// wrapping ErrNoStart that says which. If ctx is done first, Wait returns ctx's error.
//
// Wait uses the timers of the option Clock if it is a clock.Clock. Otherwise it uses
// real timers, and reads Clock whenever one fires.
func (r *Restarter[K]) Wait(ctx context.Context, key K) error {
	s := sleeper{clock: clock.RealClock{}}
	if c, ok := r.options.Clock.(clock.Clock); ok {
		s.clock = c
	}
	defer s.stop()
	for {
		if done, err := r.await(ctx, key, &s); done || err != nil {
			return err
		}
	}
}

// await takes the start of key, or waits until it may be allowed.
func (r *Restarter[K]) await(ctx context.Context, key K, s *sleeper) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	wake := r.waiters.add(key)
	defer r.waiters.remove(key, wake)
	wait, err := r.take(key)
	if err != nil || wait == 0 {
		return true, err
	}
	return false, s.sleep(ctx, wait, wake.changed)
}

// take uses up the start of key if it is allowed, and otherwise returns the wait.
func (r *Restarter[K]) take(key K) (wait time.Duration, err error) {
	now := r.options.Clock.Now()
	why := ""
	r.change(key, true, func(x *entry) bool {
		var ok bool
		if ok, wait = r.canStart(x, now); ok {
			x.Started(now)
		} else if wait == Forever {
			why = x.whyNot()
		}
		return ok
	})
	if why != "" {
		err = fmt.Errorf("backoff: Restarter.Wait(%s): %w, because %s", keyText(key), ErrNoStart, why)
	}
	return wait, err
}

// whyNot says why an entry allows no start.
func (x *entry) whyNot() string {
	switch {
	case x.isInvalid:
		return "the policy of its last exit is invalid"
	case !x.StartedAt.IsZero():
		return "it was started and has not exited since"
	case x.Action == ActionStop:
		return "it was stopped"
	}
	return "it was given up"
}

// waiters holds the signals that end the waits for keys.
type waiters[K comparable] struct {
	some  atomic.Bool // byKey is not empty; spares callers without waiters the lock
	mu    sync.Mutex
	byKey map[K]*wakeup
}

// wakeup is closed when the wait for a key changes.
type wakeup struct {
	changed chan struct{}
	users   int
}

// add returns the signal of key.
func (w *waiters[K]) add(key K) *wakeup {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byKey[key]
	if s == nil {
		if w.byKey == nil {
			w.byKey = make(map[K]*wakeup)
		}
		s = &wakeup{changed: make(chan struct{})}
		w.byKey[key] = s
		w.some.Store(true)
	}
	s.users++
	return s
}

// remove ends one use of a signal.
func (w *waiters[K]) remove(key K, s *wakeup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.users--; s.users == 0 && w.byKey[key] == s {
		w.drop(key)
	}
}

// wake signals that the wait for key has changed.
func (w *waiters[K]) wake(key K) {
	if !w.some.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.byKey[key]; s != nil {
		close(s.changed)
		w.drop(key)
	}
}

func (w *waiters[K]) drop(key K) {
	delete(w.byKey, key)
	w.some.Store(len(w.byKey) > 0)
}

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
