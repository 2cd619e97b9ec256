package pleg

import (
	"sync"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// An eventQueue collects runtime events and requests, coalesced per pod, without ever
// blocking (G7, G8). It is safe for concurrent use by multiple goroutines.
type eventQueue[K comparable, S any] struct {
	wake chan struct{} // holds one token if anything is pending

	mu         sync.Mutex
	pods       queue.Queue[K, pendingEvent[K, S]]
	limit      int  // number of pods beyond which a full relist is requested
	everything bool // a full relist is requested
	fresh      bool // events arrived since the last drain
	received   uint64
	merged     uint64
	latency    Histogram
	exits      bool // evidence of exits is wanted
}

// A pendingEvent holds the pending events of one pod.
type pendingEvent[K comparable, S any] struct {
	reported map[string]rank     // the furthest rank per container
	exits    map[string]exitNote // evidence of exits per container, if wanted
}

// event adds an event that arrived at now.
func (q *eventQueue[K, S]) event(e RuntimeEvent[K, S], now time.Time) {
	at, clean := localTime(now, e.At)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.received++
	q.fresh = true
	if clean {
		q.latency.observe(now.Sub(at))
	}
	defer queue.Signal(q.wake)
	var none K
	var p *pendingEvent[K, S]
	var pending bool
	if e.Pod != none {
		p, pending = q.slot(e.Pod)
	}
	if p == nil {
		q.everything = true
		return
	}
	if pending {
		q.merged++
	}
	if p.reported == nil {
		p.reported = map[string]rank{}
	}
	if r := rankReported(e.Type); e.Container != "" && r > p.reported[e.Container] && (len(p.reported) < maxOrphans || p.reported[e.Container] > 0) {
		p.reported[e.Container] = r
	}
	if q.exits {
		p.noteExits(e, at, clean)
	}
}

// noteExits keeps the evidence of exits in e. at is its local time, if believed, and
// applies only to its own container, because its other contents may be older.
func (p *pendingEvent[K, S]) noteExits(e RuntimeEvent[K, S], at time.Time, believed bool) {
	if !believed {
		at = time.Time{}
	}
	add := func(container string, n exitNote) {
		old, ok := p.exits[container]
		if !ok && len(p.exits) >= maxOrphans {
			return
		}
		if p.exits == nil {
			p.exits = map[string]exitNote{}
		}
		old.add(n)
		p.exits[container] = old
	}
	if e.Container != "" {
		add(e.Container, exitNote{told: at})
	}
	if e.Seen == nil || e.Seen.Pod.ID != e.Pod {
		return
	}
	details := exitsIn(e.Seen.Status)
	for _, c := range e.Seen.Pod.Containers {
		if c.State == StateExited {
			d, known := details[c.ID]
			add(c.ID, exitNote{source: ExitSeenByEvent, known: known, details: d})
		}
	}
}

// followExits sets whether evidence of exits is wanted.
func (q *eventQueue[K, S]) followExits(follow bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.exits = follow
}

// request requests a relist of one pod.
func (q *eventQueue[K, S]) request(pod K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p, _ := q.slot(pod); p == nil {
		q.everything = true
	}
	queue.Signal(q.wake)
}

// slot returns the slot of pod, and whether it was pending before. The slot is nil if
// the queue is full.
func (q *eventQueue[K, S]) slot(pod K) (p *pendingEvent[K, S], pending bool) {
	if p := q.pods.Get(pod); p != nil {
		return p, true
	}
	if q.pods.Len() >= q.limit {
		return nil, false
	}
	return q.pods.Put(pod), false
}

// drain removes and returns the pending events by pod, whether a full relist is
// requested, and whether any events arrived. It sets the limit.
func (q *eventQueue[K, S]) drain(limit int) (pods queue.Queue[K, pendingEvent[K, S]], everything, received bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pods, everything, received = q.pods, q.everything, q.fresh
	q.pods, q.everything, q.fresh, q.limit = queue.Queue[K, pendingEvent[K, S]]{}, false, false, limit
	return pods, everything, received
}
