package pleg

import (
	"iter"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A statusStore is what a relister reads and writes of a Cache.
type statusStore[K comparable, S any] interface {
	Get(key K) statuscache.Entry[S]
	Keys() iter.Seq[K] // that are present
	Delete(key K, at time.Time) bool
	SetInOrder(key K, status S, err error, at time.Time) (updated bool)
	Counts() statuscache.Counts
}

// A relister is the relisting state machine: what was seen of every pod, what
// to ask next, and what an answer changes. It makes no calls, owns no goroutine
// and reads no clock. Its owner does, locks it, and sets the global time.
//
// Every call, request and event gets a serial number, which orders what happens
// within one reading of the clock. No number is given twice.
//
// It holds that
//
//  1. at most one observation of a pod is in flight, so the observations of a pod
//     are written in the order in which they began;
//  2. a pod's record changes only together with its cache entry, and events that
//     say so are emitted afterwards;
//  3. no rank of a container ever decreases, unless its id is used again, which
//     two observations of ours in a row have to show (G1, G3, G10);
//  4. a full relist ends only when every pod that differed has been inspected
//     since it began, or the error is in the cache; then its start may become the
//     global time (G2).
//
// This file holds the state; relist_calls.go chooses what to ask, relist_list.go
// and relist_status.go take the answers, relist_stepback.go doubts them,
// relist_record.go writes down what they show, and relist_exits.go says what has
// ended.
type relister[K comparable, S any] struct {
	o      GeneratorOptions
	store  statusStore[K, S]
	single bool // one pod can be looked at
	alone  bool // by its Status alone
	stats  Stats

	serial     uint64
	pods       map[K]*podRecord[K]
	order      []*podRecord[K]   // all of pods; podRecord.index is the place
	present    int               // pods that were there when last looked at
	live       int               // their containers
	orphans    []orphan[K]       // containers that are remembered although they are not there
	unreported []unreportedSteps // steps that an event may still report

	subscribers map[*subscriber[K]]struct{}
	exitQueues  map[*exitQueue[K]]struct{}
	syncAll     uint64 // a full relist after it ends with a PodSync of all; 0: none

	ready         queue.Queue[K, struct{}] // pods with something to ask
	failing       queue.Queue[K, struct{}] // pods that back off
	callsInFlight int                      // of Pod and Status

	relist       *relist // under way, or nil
	waiters      []*relistWaiter
	listForPods  bool      // a full list is wanted for the sake of single pods
	listNow      bool      // a full list is wanted for itself
	listFailed   bool      // the last one failed
	listed       bool      // one has ended, failed or not
	listEnd      time.Time // of the last one, if listed
	lastStart    time.Time // of the last one that succeeded, if stats.Relists > 0
	expectEvents bool      // a stream is expected to report every step
	streamYoung  bool      // it was opened, but is not relied upon yet
	repeats      bool      // the next full list repeats one that showed a step back
}

// An observation is one look at a pod: what a list showed, then its status.
type observation struct {
	start   time.Time // before the first call; what it shows is no older
	serial  uint64
	seen    []Container            // every container once, in order of id
	exits   map[string]ExitDetails // of the status, if it says and there are readers of exits
	absent  bool                   // the pod is not there
	lenient bool                   // a step without an event does not count as missed yet
	alone   bool                   // it is a Status that no list came before
	blind   bool                   // the runtime's stamp of the status is not believed
}

// A relist is a full relist under way.
type relist struct {
	start    time.Time
	serial   uint64
	explicit bool // asked for by Relist: failing pods are inspected too
	lenient  bool // a step without an event does not count as missed yet
	repeats  bool // it repeats a list that showed a step back
	listed   bool // the list is there
	open     int  // pods that it waits for
}

// A relistWaiter waits for a full relist that begins after it.
type relistWaiter struct {
	serial uint64
	done   chan error // receives once
}

func newRelister[K comparable, S any](store statusStore[K, S], o GeneratorOptions, single bool) *relister[K, S] {
	return &relister[K, S]{o: o, store: store, single: single, subscribers: map[*subscriber[K]]struct{}{}, exitQueues: map[*exitQueue[K]]struct{}{}, pods: map[K]*podRecord[K]{}}
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
		r.listForPods = true
		return
	}
	p := r.record(key)
	p.wanted = r.next()
	p.urgent = p.urgent || urgent
	r.ready.Put(key)
}

// dropWaiter forgets a waiter.
func (r *relister[K, S]) dropWaiter(w *relistWaiter) {
	r.waiters = slices.DeleteFunc(r.waiters, func(x *relistWaiter) bool { return x == w })
}

// notifyWaiters reports the outcome of a relist to those who waited when it began.
func (r *relister[K, S]) notifyWaiters(serial uint64, err error) {
	r.waiters = slices.DeleteFunc(r.waiters, func(w *relistWaiter) bool {
		if w.serial >= serial {
			return false
		}
		w.done <- err
		return true
	})
}

// abandon forgets the calls in flight, whose results will not come, and asks for
// what they were to bring.
func (r *relister[K, S]) abandon() {
	r.relist, r.callsInFlight = nil, 0
	for _, p := range r.order {
		for _, o := range []*observation{p.inFlight, p.listed} {
			if o != nil {
				r.noteUnrecorded(p, o, o.seen)
				p.wanted = r.next()
				r.ready.Put(p.key)
			}
		}
		p.relist, p.listed, p.inFlight = nil, nil, nil
	}
	r.listNow = true
}

// emit hands events of one pod to the subscribers.
func (r *relister[K, S]) emit(key K, events []Event[K]) {
	if len(events) == 0 {
		return
	}
	for s := range r.subscribers {
		r.stats.MergedEvents += uint64(s.put(key, events))
		if s.pending.Len() > maxOrphans+2*r.present {
			r.stats.MergedEvents += uint64(s.dropGone(func(key K) bool { p := r.pods[key]; return p != nil && p.present }))
		}
		queue.Signal(s.wake)
	}
}

// subscribe adds a subscriber to whom a PodSync of every present pod is due.
func (r *relister[K, S]) subscribe() *subscriber[K] {
	s := &subscriber[K]{wake: make(chan struct{}, 1)}
	for _, p := range r.order {
		if p.present {
			s.pending.Put(p.key).list = []Event[K]{{Pod: p.key, Type: PodSync}}
		}
	}
	r.subscribers[s] = struct{}{}
	return s
}
