package plegtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
)

// Pods lists every pod.
func (r *Runtime[K]) Pods(ctx context.Context) ([]pleg.Pod[K], error) {
	var list []pleg.Pod[K]
	var none K
	err := r.call(ctx, "Pods", none, func() error {
		for _, id := range r.order {
			if p := r.pods[id]; len(p.containers) > 0 {
				list = append(list, pleg.Pod[K]{ID: id, Containers: slices.Clone(p.containers)})
			}
		}
		return nil
	})
	return list, err
}

// Pod lists one pod.
func (r *Runtime[K]) Pod(ctx context.Context, id K) (pleg.Pod[K], error) {
	one := pleg.Pod[K]{ID: id}
	err := r.call(ctx, "Pod", id, func() error {
		p := r.pods[id]
		if p == nil || len(p.containers) == 0 {
			return fmt.Errorf("pod %v: %w", id, pleg.ErrNotFound)
		}
		one.Containers = slices.Clone(p.containers)
		return nil
	})
	return one, err
}

// Status returns the snapshot of a pod and a later timestamp.
func (r *Runtime[K]) Status(ctx context.Context, id K) (*Status, time.Time, error) {
	var s *Status
	var stamp time.Time
	err := r.call(ctx, "Status", id, func() error {
		p := r.pods[id]
		if p == nil || len(p.containers) == 0 {
			return fmt.Errorf("pod %v: %w", id, pleg.ErrNotFound)
		}
		s = p.versions[len(p.versions)-1]
		stamp = r.stamp("status", p.number, r.calls[callCount{"Status", p.number}])
		return nil
	})
	if errors.Is(err, ErrInjected) {
		s = r.beside(id)
	}
	return s, stamp, err
}

// beside returns the snapshot to return with the error of a Status, usually nil.
func (r *Runtime[K]) beside(id K) *Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[id]
	if p == nil || !r.roll("Beside", r.faults.Beside, p.number, r.calls[callCount{"Status", p.number}]) {
		return nil
	}
	return p.versions[len(p.versions)-1]
}

// call makes one call, subject to the faults. read reads the true state, before or
// after the delay.
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
	ofItsBegin := r.dice.float("begin", c, n) < 0.5
	if ofItsBegin {
		err = read()
	}
	r.pause(ctx, delay)
	if !ofItsBegin {
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
