package pleg

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg/internal/queue"
)

// ExitSource tells how an exit became known.
type ExitSource string

// The sources of exits.
const (
	ExitShown       ExitSource = "shown"    // an answer showed the container exited
	ExitToldByEvent ExitSource = "event"    // the container is gone, and an event told its exit
	ExitInferred    ExitSource = "inferred" // the container is gone, its exit unseen
)

// Exit is the end of one container.
type Exit[K comparable] struct {
	Pod       K          `json:"pod"`
	Container string     `json:"container"` // its id
	Source    ExitSource `json:"source"`
	Known     bool       `json:"known,omitempty"` // Details are those of the runtime
	// Details are zero if not Known, except for Name and Attempt. Those are always the
	// Container's if the details have no Name.
	Details ExitDetails `json:"details,omitzero"`
	// Lost counts the exits dropped before this one because the reader fell behind.
	Lost int `json:"lost,omitempty"`
}

// ExitDetails are the details of an exit, passed on unchanged. Times outside the years 1
// to 9999 count as unknown.
type ExitDetails struct {
	Name     string    `json:"name,omitempty"`    // the same for every attempt
	Attempt  int64     `json:"attempt,omitempty"` // earlier attempts counted by the runtime
	Code     int32     `json:"code"`
	Reason   string    `json:"reason,omitempty"` // Completed, Error, OOMKilled, …
	Started  time.Time `json:"started,omitzero"` // zero if it never ran, or unknown
	Finished time.Time `json:"finished,omitzero"`
}

// copy returns a copy of d without times that JSON cannot hold.
func (d ExitDetails) copy() *ExitDetails {
	for _, t := range []*time.Time{&d.Started, &d.Finished} {
		if y := t.Year(); y < 1 || y > 9999 {
			*t = time.Time{}
		}
	}
	return &d
}

// The exit code and reason of an exit whose details are unknown, as in the kubelet.
const (
	unknownExitCode   = 137
	unknownExitReason = "ContainerStatusUnknown"
)

// Backoff converts e for Restarter.Exited. run is the number of the run that ended, such
// as Details.Attempt+1. If e is not Known, it counts as a failure with Code 137, as for
// SIGKILL, and the Reason ContainerStatusUnknown, as in the kubelet. Its times are zero.
func (e Exit[K]) Backoff(run int64) backoff.Exit {
	if !e.Known {
		return backoff.Exit{Run: run, Code: unknownExitCode, Reason: unknownExitReason}
	}
	d := e.Details
	return backoff.Exit{Run: run, Code: d.Code, Reason: d.Reason, Started: d.Started, Finished: d.Finished}
}

// ExitOptions are the settings of an ExitReader. With the zero value it yields exits
// from now on.
type ExitOptions[K comparable] struct {
	// IncludePast also yields the earlier exits of listed containers.
	IncludePast bool
	// Resume continues from another reader's Position, with the exits that it has not
	// yielded and those since. Containers in the position that the runtime no longer has,
	// such as those of another node, yield inferred exits.
	Resume *ExitPosition[K]
}

// An ExitReader yields, once, the end of every container that an answer of the runtime
// shows or that Expect announced. Only a container that came and went between two answers
// yields none. Stats.UnseenContainers counts those of them that events named.
//
// Exits from before the reader was made are left out. If the Generator has made a full list
// by then, these are the exits that it knows. Otherwise they are the exits in the first full
// list that have no finishing time, or one before the reader was made. So make the reader
// before Run starts, and start containers after that.
//
// An exit comes after its pod's entry is in the cache. Exits of a pod come in the order in
// which they became known; those that one answer showed come by finishing time. If
// inspections of the pod fail, an exit in a full list comes after the second failure.
//
// A reader may be 4096 exits behind, and twice as many as there were containers meanwhile.
// Beyond that it loses the oldest exits; see Exit.Lost.
//
// Make one with Generator.ExitReader; the zero value is not usable. An ExitReader is
// safe for concurrent use.
type ExitReader[K comparable] struct {
	mu          *sync.Mutex // the Generator's
	log         *exitLog[K]
	position    func() ExitPosition[K] // with mu locked
	expect      func(K, Container)     // likewise
	drop        func()                 // likewise
	cacheClosed <-chan struct{}        // closed with the cache
	closed      chan struct{}
	once        sync.Once
}

// ExitReader returns a reader of exits, to be closed after use. The error wraps
// field.Errors if o.Resume is invalid.
func (g *Generator[K, S]) ExitReader(o ExitOptions[K]) (*ExitReader[K], error) {
	if err := o.Resume.validate(); err != nil {
		return nil, fmt.Errorf("pleg: ExitReader: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.openLog(o)
	return &ExitReader[K]{
		mu:          &g.mu,
		log:         l,
		position:    func() ExitPosition[K] { return g.position(l) },
		expect:      func(pod K, c Container) { g.expect(l, pod, c) },
		drop:        func() { delete(g.publisher.logs, l) },
		cacheClosed: g.writer.Done(),
		closed:      make(chan struct{}),
	}, nil
}

// Next waits for the next exit. It returns a pending exit even if ctx is done.
// Otherwise the error is the context's, or ErrClosed after Close of the reader or the
// cache.
func (r *ExitReader[K]) Next(ctx context.Context) (e Exit[K], err error) {
	err = r.wait(ctx, func() (ok bool) {
		e, ok = r.log.next()
		return ok
	})
	return e, err
}

// NextAt is like Next and also returns the Position right after the exit. Use it if one
// goroutine reads exits and another handles them, and save the returned position with
// the outcome of its exit. Position would skip the exits that are read and not yet
// handled.
//
// The position lacks containers that Expect announces later. NextAt takes time in
// proportion to the containers and the pending exits, as Position does.
func (r *ExitReader[K]) NextAt(ctx context.Context) (e Exit[K], p ExitPosition[K], err error) {
	err = r.wait(ctx, func() (ok bool) {
		if e, ok = r.log.next(); ok {
			p = r.position()
		}
		return ok
	})
	return e, p, err
}

// wait calls next, with mu locked, until an exit is pending and next takes it. The error
// is that of Next.
func (r *ExitReader[K]) wait(ctx context.Context, next func() (ok bool)) error {
	for {
		over := queue.IsClosed(r.cacheClosed) || queue.IsClosed(r.closed)
		r.mu.Lock()
		ok := next()
		r.mu.Unlock()
		switch {
		case ok:
			return nil
		case over:
			return ErrClosed
		}
		select {
		case <-r.log.wake:
		case <-r.cacheClosed:
		case <-r.closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TryNext returns the next exit; ok is false if none is pending.
func (r *ExitReader[K]) TryNext() (e Exit[K], ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.next()
}

// Position returns the reader's position, which counts the exits that Next, NextAt and
// TryNext have returned as handled. A reader resumed from it yields the others and those
// since. Save it together with the outcome of each exit, in one write, because an older
// position repeats the exit and a newer one skips it.
//
// A position contains the containers shown or expected so far. One that appears later
// and is gone before the position is resumed yields no exit, so save the position also
// after starting a container, or use Expect.
func (r *ExitReader[K]) Position() ExitPosition[K] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position()
}

// Expect announces a container that the caller has created. Call it after the create call
// returned, because a full list that begins after Expect must show the container. If one
// lacks it, and a later inspection of its pod agrees, the container's exit is inferred, with
// its Name and Attempt. Its State and Exit are ignored.
//
// To learn the exit even after a crash, create the container, call Expect, save the
// Position and then start the container. Do so in the goroutine that handles the exits,
// so that the Position skips no exit. Expect is a no-op if the container's exit is
// pending or was yielded, and for the zero key, which names no pod.
func (r *ExitReader[K]) Expect(pod K, c Container) {
	var none K
	if pod == none {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expect(pod, c)
}

// Close ends the subscription. Pending exits can still be read, and Position then counts
// them as handled. A reader resumed from it yields the rest and what has happened since
// Close. Expect is a no-op after Close.
func (r *ExitReader[K]) Close() {
	r.once.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		last := r.position()
		r.position = func() ExitPosition[K] {
			p := last
			p.Pods = slices.Clone(last.Pods)
			p.Due, p.Lost = slices.Clone(r.log.due), r.log.lost
			return p
		}
		r.expect = func(K, Container) {}
		r.drop()
		close(r.closed)
	})
}
