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
// This file holds the state. relist_calls.go chooses what to ask; relist_list.go and
// relist_status.go take the answers; relist_record.go records what they show, and
// relist_unrecorded.go remembers what is not recorded; relist_end.go ends a full relist.
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
	exits       exitLogs[K]
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

// A relistWaiter waits for a full relist that begins after it.
type relistWaiter struct {
	serial uint64
	done   chan error // receives once
}

func newRelister[K comparable, S any](store statusStore[K, S], o GeneratorOptions, single bool) *relister[K, S] {
	return &relister[K, S]{o: o, store: store, single: single, subscribers: map[*subscriber[K]]struct{}{}, exits: exitLogs[K]{}, pods: map[K]*podRecord[K]{}}
}

// next returns a serial number later than all before it.
func (r *relister[K, S]) next() uint64 {
	r.serial++
	return r.serial
}

// dropWaiter forgets a waiter.
func (r *relister[K, S]) dropWaiter(w *relistWaiter) {
	r.waiters = slices.DeleteFunc(r.waiters, func(x *relistWaiter) bool { return x == w })
}

// unreportedSteps are steps of a container that a relist found and an event may
// still report; tracked.unreported says which.
type unreportedSteps struct {
	container *tracked
	found     time.Time
}

// An orphan is a container that is remembered although it is not there: it was
// removed, or only an event or an unrecorded observation showed it.
type orphan[K comparable] struct {
	pod       *podRecord[K]
	container string
}

// maxOrphans is how many orphans, absent pods and tombstones may be remembered
// beyond twice the pods and containers that are there. With more, a full relist
// is made, which forgets them (G7).
const maxOrphans = 1024

// crowded reports whether as much is remembered as may be.
func (r *relister[K, S]) crowded() bool {
	return r.remembered() > maxOrphans+2*(r.present+r.live)
}

// remembered counts what is remembered although it is not there.
func (r *relister[K, S]) remembered() int {
	return len(r.orphans) + len(r.pods) - r.present + r.store.Counts().Tombstones
}

// exitLimit is how much a reader of exits may hold of each kind (G7).
func (r *relister[K, S]) exitLimit() int {
	return rememberedExits + 2*(r.present+r.live+len(r.orphans))
}

// tracks reports whether c is remembered for its own sake.
func (r *relister[K, S]) tracks(c containerRef[K]) bool {
	p := r.pods[c.pod]
	return p != nil && p.containers[c.container] != nil
}

// retained counts what is remembered besides the pods that are there.
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

// record returns the record of key, a new one if there is none.
func (r *relister[K, S]) record(key K) *podRecord[K] {
	p := r.pods[key]
	if p == nil {
		p = &podRecord[K]{key: key, index: len(r.order), known: known{containers: containers{}}}
		r.pods[key] = p
		r.order = append(r.order, p)
	}
	return p
}

// forgetIfEmpty forgets p if there is nothing to remember of it.
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
