package pleg

import (
	"iter"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A statusStore is the part of a Cache that a relister uses.
type statusStore[K comparable, S any] interface {
	Get(key K) statuscache.Entry[S]
	Keys() iter.Seq[K] // present keys
	Delete(key K, at time.Time) bool
	SetInOrder(key K, status S, err error, at time.Time) (updated bool)
	Counts() statuscache.Counts
}

// A relister is the relisting state machine. It holds the record of every pod, chooses
// the calls to make, and handles the answers. It makes no calls, starts no goroutine
// and reads no clock. Its owner does so, locks it, and sets the global time.
//
// Every call, request and event gets a unique serial number, which orders events within
// one reading of the clock.
//
// These invariants hold:
//
//  1. at most one observation of a pod is in flight, so the observations of a pod are
//     written in the order in which they began;
//  2. a pod's record changes only together with its cache entry, and the corresponding
//     events are emitted afterwards;
//  3. the rank of a container never decreases, unless its id is reused, which two
//     observations in a row by the Generator have to show (G1, G3, G10);
//  4. a full relist ends only when every pod that differed has been inspected since it
//     began, or its error is in the cache; then its start may become the global time
//     (G2).
//
// This file holds the state. relist_calls.go chooses the calls, relist_list.go and
// relist_status.go handle the answers, relist_record.go records observations,
// relist_unrecorded.go remembers containers of unrecorded ones, and relist_end.go ends
// a full relist.
type relister[K comparable, S any] struct {
	o      GeneratorOptions
	store  statusStore[K, S]
	single bool // single pods can be looked at
	alone  bool // a Status call alone is a look
	stats  Stats

	serial     uint64
	pods       map[K]*podRecord[K]
	order      []*podRecord[K]   // every record, at its podRecord.index
	present    int               // pods present in their last observation
	live       int               // containers of these pods
	orphans    []orphan[K]       // absent containers still remembered
	unreported []unreportedSteps // steps that an event may still report

	subscribers map[*subscriber[K]]struct{}
	exits       exitLogs[K]
	syncAll     uint64 // a full relist after this serial ends with a PodSync of all pods; 0 if none

	ready         queue.Queue[K, struct{}] // pods with a call to make
	failing       queue.Queue[K, struct{}] // pods in backoff
	callsInFlight int                      // calls of Pod and Status

	relist       *relist // in progress, or nil
	waiters      []*relistWaiter
	listForPods  bool      // a full list is wanted on behalf of single pods
	listNow      bool      // a full list is wanted in its own right
	listFailed   bool      // the last full relist failed
	listed       bool      // a full relist has ended, failed or not
	listEnd      time.Time // end of the last full relist, if listed
	lastStart    time.Time // start of the last successful full relist, if stats.Relists > 0
	expectEvents bool      // a stream is expected to report every step
	streamYoung  bool      // the stream is open but not relied upon yet
	repeats      bool      // the next full list repeats one that showed a step back
}

// A relistWaiter waits for a full relist that begins after it.
type relistWaiter struct {
	serial uint64
	done   chan error // receives once
}

func newRelister[K comparable, S any](store statusStore[K, S], o GeneratorOptions, single bool) *relister[K, S] {
	return &relister[K, S]{o: o, store: store, single: single, subscribers: map[*subscriber[K]]struct{}{}, exits: exitLogs[K]{}, pods: map[K]*podRecord[K]{}}
}

// next returns a serial number later than all earlier ones.
func (r *relister[K, S]) next() uint64 {
	r.serial++
	return r.serial
}

// dropWaiter forgets a waiter.
func (r *relister[K, S]) dropWaiter(w *relistWaiter) {
	r.waiters = slices.DeleteFunc(r.waiters, func(x *relistWaiter) bool { return x == w })
}

// unreportedSteps are the steps of a container, marked in tracked.unreported, that a
// relist found and an event may still report.
type unreportedSteps struct {
	container *tracked
	found     time.Time
}

// An orphan is a container remembered although it is absent. It was removed, or only an
// event or an unrecorded observation showed it.
type orphan[K comparable] struct {
	pod       *podRecord[K]
	container string
}

// maxOrphans is how many orphans, absent pods and tombstones may be remembered beyond
// twice the present pods and containers. With more, a full relist is made to forget
// them (G7).
const maxOrphans = 1024

// crowded reports whether more is remembered than the limit allows.
func (r *relister[K, S]) crowded() bool {
	return r.remembered() > maxOrphans+2*(r.present+r.live)
}

// remembered returns the number of orphans, absent pods and tombstones.
func (r *relister[K, S]) remembered() int {
	return len(r.orphans) + len(r.pods) - r.present + r.store.Counts().Tombstones
}

// exitLimit returns how many exits, and how many ended containers, a reader of exits
// may hold (G7).
func (r *relister[K, S]) exitLimit() int {
	return rememberedExits + 2*(r.present+r.live+len(r.orphans))
}

// tracks reports whether c has a record.
func (r *relister[K, S]) tracks(c containerRef[K]) bool {
	p := r.pods[c.pod]
	return p != nil && p.containers[c.container] != nil
}

// retained returns Stats.Retained, except for queued events.
func (r *relister[K, S]) retained() int {
	n := r.remembered()
	for s := range r.subscribers {
		n += s.pending.Len()
	}
	for q := range r.exits {
		n += q.retained(r.live)
	}
	return n
}

// record returns the record of key, creating it if necessary.
func (r *relister[K, S]) record(key K) *podRecord[K] {
	p := r.pods[key]
	if p == nil {
		p = &podRecord[K]{key: key, index: len(r.order), known: known{containers: containers{}}}
		r.pods[key] = p
		r.order = append(r.order, p)
	}
	return p
}

// forgetIfEmpty removes the record of p if it is empty.
func (r *relister[K, S]) forgetIfEmpty(p *podRecord[K]) {
	if r.pods[p.key] != p || p.present || len(p.containers) > 0 || !p.idle() {
		return
	}
	last := r.order[len(r.order)-1]
	r.order[p.index], last.index = last, p.index
	r.order[len(r.order)-1] = nil
	r.order = r.order[:len(r.order)-1]
	delete(r.pods, p.key)
	r.ready.Drop(p.key)
}
