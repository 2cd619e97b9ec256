package pleg

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A relister is the relisting state machine: what was seen of every pod, what
// is to be asked next, and what an answer changes. It makes no calls, owns no
// goroutine and reads no clock; its owner does, and locks it.
//
// Everything that was asked has a serial number, and so has every request to
// ask: they order what happens within one reading of the clock.
//
// It holds that
//
//  1. of one pod at most one observation is under way, so those of one pod are
//     written in the order in which they began;
//  2. a record changes only together with its cache entry, and an event tells
//     of it only afterwards;
//  3. no rank of a container ever decreases, but for an id that is used again,
//     which two observations of ours in a row have to show (G1, G3, G10);
//  4. the global time moves to the start of a full relist only when every pod
//     that differed has been inspected since, or its error cached (G2).
type relister[K comparable, S any] struct {
	o      GeneratorOptions
	cache  *Cache[K, S]
	single bool // one pod can be listed
	stats  Stats

	serial  uint64
	pods    map[K]*podRecord[K]
	order   []*podRecord[K] // all of pods; record.index is the place
	present int             // pods that were there when last looked at
	live    int             // their containers
	ghosts  []ghost[K]      // containers kept only for the sake of what comes late
	owing   []owing         // steps that wait for an event to tell of them

	readers map[*reader[K]]struct{} // of Events

	ready   mailbox[K, struct{}] // pods with something to ask
	failing mailbox[K, struct{}] // pods that back off
	flying  int                  // Pod and Status calls under way

	relist     *relist
	tickets    []*ticket
	listHint   bool      // a full list is wanted, for pods
	listNow    bool      // a full list is wanted, for itself
	listFailed bool      // the last one
	listed     bool      // one has ended, failed or not
	listEnd    time.Time // of the last one, if listed
	lastStart  time.Time // of the last one that ended well, if stats.Relists > 0
	expectTold bool      // a stream is expected to tell of every step
	tellsLate  bool      // it was opened, but is not relied upon yet
	repeats    bool      // the next full list repeats one that showed a step back
}

// An observation is one look at a pod: what a list showed, then its status.
type observation struct {
	start   time.Time // before the first call; what it shows is no older
	serial  uint64
	seen    []Container // every container once, in order of id
	absent  bool
	lenient bool // steps without an event are not yet missed ones
	told    bool // it is an event's
	blind   bool // the runtime's stamp of the status is not believed
}

// A relist is a full relist under way.
type relist struct {
	start    time.Time
	serial   uint64
	explicit bool // by Relist: failing pods are inspected too
	lenient  bool // steps without an event are not yet missed ones
	repeats  bool // of one that showed a step back
	listed   bool // the list is there
	open     int  // pods that it waits for
}

// A ticket waits for a full relist that begins after it.
type ticket struct {
	serial uint64
	done   chan error // receives once
}

// A call is one call of the Runtime to make.
type call[K comparable] struct {
	kind     callKind
	pod      K
	start    time.Time
	deadline time.Time
}

type callKind int

const (
	callPods callKind = iota
	callPod
	callStatus
)

func (k callKind) String() string { return [...]string{"Pods", "Pod", "Status"}[k] }

// An answer is what a call brought.
type answer[K comparable, S any] struct {
	call   call[K]
	pods   []Pod[K] // one for callPod
	status S
	stamp  time.Time
	err    error
}

func newRelister[K comparable, S any](c *Cache[K, S], o GeneratorOptions, single bool) *relister[K, S] {
	return &relister[K, S]{
		o:       o,
		cache:   c,
		single:  single,
		readers: map[*reader[K]]struct{}{},
		pods:    map[K]*podRecord[K]{},
	}
}

// next returns a serial number later than all before it.
func (r *relister[K, S]) next() uint64 {
	r.serial++
	return r.serial
}

// request asks for an observation of key that begins from now on. An urgent one
// does not wait for the end of a backoff.
func (r *relister[K, S]) request(key K, urgent bool) {
	if r.pods[key] == nil && r.crowded() {
		r.listHint = true
		return
	}
	p := r.record(key)
	p.wanted = r.next()
	p.urgent = p.urgent || urgent
	r.ready.put(key)
}

// calls returns the calls to make now. running is false outside Run, where only
// Relist's are made.
func (r *relister[K, S]) calls(now time.Time, running bool, period time.Duration) []call[K] {
	var list []call[K]
	for r.flying < r.o.Parallel {
		key, _, ok := r.ready.take()
		if !ok {
			break
		}
		if c, ok := r.begin(r.pods[key], now); ok {
			r.flying++
			list = append(list, c)
		}
	}
	if due, lenient := r.due(now, running, period); due {
		r.listHint, r.listNow = false, false
		r.relist = &relist{start: now, serial: r.next(), explicit: len(r.tickets) > 0, lenient: lenient || r.tellsLate, repeats: r.repeats}
		r.repeats = false
		list = append(list, call[K]{kind: callPods, start: now, deadline: now.Add(r.o.RelistThreshold)})
	}
	return list
}

// due reports whether a full relist is to begin, and whether only for the sake
// of single pods.
func (r *relister[K, S]) due(now time.Time, running bool, period time.Duration) (due, lenient bool) {
	switch {
	case r.relist != nil:
		return false, false
	case len(r.tickets) > 0:
		return true, false
	case !running:
		return false, false
	case !r.listed, !now.Before(r.listAt(period)):
		return true, false
	case r.listFailed:
		return false, false
	case r.listNow:
		return true, false
	}
	return r.listHint && !now.Before(r.hintAt()), true
}

// hintAt is when a full list may be made for the sake of single pods: where
// these can be listed it is only to forget, and has time.
func (r *relister[K, S]) hintAt() time.Time {
	if r.single {
		return r.listEnd.Add(r.o.RelistPeriod)
	}
	return r.listEnd
}

// listAt is when the next periodic relist is due, if one has ended.
func (r *relister[K, S]) listAt(period time.Duration) time.Time {
	if r.listFailed {
		period = r.o.RelistPeriod
	}
	return r.listEnd.Add(period)
}

// retries readies the pods whose backoff is over and returns when the next one's
// is.
func (r *relister[K, S]) retries(now time.Time) (next wakeup) {
	for key := range r.failing.keys() {
		if p := r.pods[key]; p.backsOff(now) {
			next = next.or(wakeAt(p.retryAt))
			continue
		}
		r.failing.drop(key)
		r.ready.put(key)
	}
	return next
}

// begin starts the observation of p, if there is one to make, and returns its
// next call.
func (r *relister[K, S]) begin(p *podRecord[K], now time.Time) (call[K], bool) {
	if p.flight != nil {
		return call[K]{}, false // its end looks again
	}
	if o := p.listed; o != nil {
		p.listed = nil
		switch {
		case p.newer(o.serial, o.start):
			r.refuse(p, o, now)
			r.settle(p, o)
		default:
			p.flight = o
			return call[K]{callStatus, p.key, now, now.Add(r.o.StatusTimeout)}, true
		}
	}
	switch {
	case p.wanted == 0, p.backsOff(now) && !p.urgent:
	case !r.single:
		r.listHint = true
	default:
		p.urgent = false
		p.flight = &observation{start: now, serial: r.next(), lenient: true}
		return call[K]{callPod, p.key, now, now.Add(r.o.StatusTimeout)}, true
	}
	r.tidy(p)
	return call[K]{}, false
}

// drop takes back a ticket.
func (r *relister[K, S]) drop(t *ticket) {
	r.tickets = slices.DeleteFunc(r.tickets, func(x *ticket) bool { return x == t })
}

// abandon forgets the calls under way, whose answers will not be taken, and
// asks for what they were to bring.
func (r *relister[K, S]) abandon() {
	r.relist, r.flying = nil, 0
	for _, p := range r.order {
		for _, o := range []*observation{p.flight, p.listed} {
			if o != nil {
				r.glimpse(p, o, o.seen)
				p.wanted = r.next()
				r.ready.put(p.key)
			}
		}
		p.relist, p.listed, p.flight = nil, nil, nil
	}
	r.listNow = true
}

// late is the error of a call that was cancelled at its deadline.
func (c call[K]) late(o GeneratorOptions) error {
	limit := o.StatusTimeout
	if c.kind == callPods {
		return fmt.Errorf("pleg: Pods(): no answer within %v: %w", o.RelistThreshold, context.DeadlineExceeded)
	}
	return fmt.Errorf("pleg: %v(%v): no answer within %v: %w", c.kind, c.pod, limit, context.DeadlineExceeded)
}

// wake is when a full relist is due, never while one is under way.
func (r *relister[K, S]) wake(period time.Duration) wakeup {
	if r.relist != nil {
		return wakeup{}
	}
	next := wakeAt(r.listAt(period))
	if r.listHint && !r.listFailed {
		next = next.or(wakeAt(r.hintAt()))
	}
	return next
}
