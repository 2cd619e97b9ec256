package plegtest

import (
	"context"
	"fmt"
	"time"

	"github.com/restartkit/restart/pleg"
)

// Pods lists every pod.
func (r *Runtime[K]) Pods(ctx context.Context) ([]pleg.Pod[K], error) {
	var list []pleg.Pod[K]
	var none K
	err := r.call(ctx, "Pods", none, func() error {
		n := r.calls[callCount{"Pods", -1}]
		if r.roll("Empty", r.faults.Empty, n) {
			return nil
		}
		terse := r.roll("Terse", r.faults.Terse, n)
		for _, id := range r.order {
			s := r.shown(r.pods[id])
			if s == nil {
				continue
			}
			containers := s.copyOf()
			for i := range containers {
				if terse {
					containers[i].Exit = nil
				}
			}
			list = append(list, pleg.Pod[K]{ID: id, Containers: containers})
		}
		return nil
	})
	return list, err
}

// Pod inspects one pod.
func (r *Runtime[K]) Pod(ctx context.Context, id K) (pleg.Pod[K], *Status, error) {
	one := pleg.Pod[K]{ID: id}
	var s *Status
	err := r.call(ctx, "Pod", id, func() error {
		if s = r.shown(r.pods[id]); s == nil {
			return fmt.Errorf("pod %v: %w", id, pleg.ErrNotFound)
		}
		one.Containers = s.copyOf()
		return nil
	})
	if err != nil {
		s = nil
	}
	return one, s, err
}

// shown returns the pod as answers show it now, or nil if it is absent.
func (r *Runtime[K]) shown(p *pod) *Status {
	if p == nil {
		return nil
	}
	last := len(p.versions) - 1
	for last > 0 && p.visible[last].After(r.clock.Now()) {
		last--
	}
	return p.versions[last]
}

// call makes one call, subject to the faults. read reads the state, before or after the
// delay.
func (r *Runtime[K]) call(ctx context.Context, kind string, id K, read func() error) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := callCount{kind, -1}
	if p := r.pods[id]; p != nil {
		c.pod = p.number
	}
	r.calls[c]++
	n := r.calls[c]
	r.busy++
	defer func() { r.busy-- }()
	roll := func(fault string, rate float64) bool { return r.roll(fault, rate, c, n) }
	switch {
	case r.down:
		return ErrDown
	case roll("Hang", r.faults.Hang):
		r.pause(ctx, forever)
		return ctx.Err()
	case roll("Error", r.faults.Error):
		return ErrInjected
	case !roll("Slow", r.faults.Slow):
		return read()
	}
	if roll("Deaf", r.faults.Deaf) {
		ctx = context.WithoutCancel(ctx)
	}
	delay := time.Duration(r.dice.float("by", c, n) * float64(r.faults.SlowBy))
	ofItsStart := r.dice.float("begin", c, n) < 0.5
	if ofItsStart {
		err = read()
	}
	r.pause(ctx, delay)
	if !ofItsStart {
		err = read()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// pause waits for d or the end of ctx, without the lock.
func (r *Runtime[K]) pause(ctx context.Context, d time.Duration) {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-r.after(d):
	case <-ctx.Done():
	}
}

// forever is longer than any wait.
const forever time.Duration = 1 << 62

// after returns the clock's After for d, or nil for forever.
func (r *Runtime[K]) after(d time.Duration) <-chan time.Time {
	if d == forever {
		return nil
	}
	return r.clock.After(d)
}
