package pleg

import (
	"errors"
	"sync"
	"time"

	"github.com/restartkit/restart/backoff"
)

// reconnect is the delay before an event stream that ended is opened again
// (KEP-3386, "Retry immediately … every 60 seconds indefinitely").
func reconnect() backoff.Policy {
	return backoff.Policy{Initial: time.Second, Max: time.Minute, Free: 1, ResetAfter: time.Minute}
}

// A streamState is the state machine of the event stream: when to open it, and
// whether to rely on it. A stream that has lived for a relist period or told
// something is one. It is relied upon once a full relist has begun a period
// after it was opened: the subscription takes a moment to come to life, and a
// runtime that comes up loses the first events, but what they would have told
// is in that list.
//
// The zero value is a stream that is to be opened; without one, there is none.
type streamState struct {
	period      time.Duration // the short relist period
	open        bool
	opened      time.Time // if open
	retryAt     time.Time // if not, and again
	again       bool      // there was a connection before
	told        bool      // this connection has told something
	proven      bool      // this connection is one
	barred      bool      // a full relist has begun a period after opened
	unsupported bool      // what the last connection that ended said
	failures    int       // in a row
}

// connect opens the stream if it is time to.
func (s *streamState) connect(now time.Time) bool {
	if s.open || s.again && now.Before(s.retryAt) {
		return false
	}
	s.open, s.opened, s.told, s.proven, s.barred = true, now, false, false, false
	return true
}

// reset is for a stream that was given up, not lost.
func (s *streamState) reset() { *s = streamState{period: s.period, unsupported: s.unsupported} }

// ended closes the stream and reports whether it was relied upon.
func (s *streamState) ended(now time.Time, err error) (lost bool) {
	lost = s.reliable()
	policy := reconnect()
	s.unsupported = errors.Is(err, ErrUnsupported)
	if s.unsupported {
		s.failures, s.retryAt = 0, now.Add(policy.Max)
	} else {
		if now.Sub(s.opened) >= policy.ResetAfter {
			s.failures = 0
		}
		s.failures++
		s.retryAt = now.Add(policy.Delay(s.failures))
	}
	s.open, s.again = false, true
	return lost
}

// listed notes a full relist that has ended and began at start.
func (s *streamState) listed(start time.Time) {
	s.barred = s.barred || s.open && !start.Before(s.opened.Add(s.period))
}

// prove reports whether the stream has just turned out to be one.
func (s *streamState) prove(now time.Time) bool {
	if !s.open || s.proven || !s.told && now.Before(s.opened.Add(s.period)) {
		return false
	}
	s.proven, s.unsupported = true, false
	return true
}

// reliable reports whether the stream is to be relied upon.
func (s *streamState) reliable() bool { return s.open && s.barred }

// next is when to look again, at a stream that was to be opened.
func (s *streamState) next() wakeup {
	switch {
	case !s.open:
		return wakeAt(s.retryAt)
	case !s.proven:
		return wakeAt(s.opened.Add(s.period))
	}
	return wakeup{}
}

// An intake takes what the runtime tells, and requests, without ever blocking:
// one coalescing slot per pod. (G7, G8)
type intake[K comparable, S any] struct {
	trust bool
	kick  chan struct{} // holds one token while there is something to take

	mu         sync.Mutex
	box        mailbox[K, hint[K, S]]
	limit      int  // of box; beyond it, everything
	everything bool // a full relist is asked for
	told       bool // events came in
	received   uint64
	merged     uint64
	latency    Histogram
}

// A hint is what came in about one pod.
type hint[K comparable, S any] struct {
	told map[string]rank     // the furthest, per container
	last *RuntimeEvent[K, S] // the newest that carries an observation, if these are trusted
}

// event takes an event, read at now.
func (q *intake[K, S]) event(e RuntimeEvent[K, S], now time.Time) {
	at, clean := local(now, e.At)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.received++
	q.told = true
	if clean {
		q.latency.observe(now.Sub(at))
	}
	defer poke(q.kick)
	var none K
	if e.Pod == none || q.full(e.Pod) {
		q.everything = true
		return
	}
	before := q.box.len()
	h := q.box.put(e.Pod)
	if q.box.len() == before {
		q.merged++
	}
	if h.told == nil {
		h.told = map[string]rank{}
	}
	if r := rankTold(e.Type); e.Container != "" && r > h.told[e.Container] && (len(h.told) < strangers || h.told[e.Container] > 0) {
		h.told[e.Container] = r
	}
	if q.trust && e.Seen != nil && clean && (h.last == nil || !e.At.Before(h.last.At)) {
		kept := e // only what is kept goes to the heap
		h.last = &kept
	}
}

// request asks for a relist of one pod.
func (q *intake[K, S]) request(pod K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full(pod) {
		q.everything = true
	} else {
		q.box.put(pod)
	}
	poke(q.kick)
}

// full reports whether there is no slot for pod.
func (q *intake[K, S]) full(pod K) bool {
	return q.box.slots[pod] == nil && q.box.len() >= q.limit
}

// drain removes what came in.
func (q *intake[K, S]) drain(limit int) (box mailbox[K, hint[K, S]], everything, told bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	box, everything, told = q.box, q.everything, q.told
	q.box, q.everything, q.told, q.limit = mailbox[K, hint[K, S]]{}, false, false, limit
	return box, everything, told
}

// take takes what came in: every event is a hint, and one that can be trusted
// is recorded at once.
func (r *relister[K, S]) take(q *intake[K, S], now time.Time) (told bool) {
	box, everything, told := q.drain(strangers + 2*r.present)
	r.listNow = r.listNow || everything
	for {
		key, h, ok := box.take()
		if !ok {
			return told
		}
		r.tell(key, h.told)
		if h.last != nil {
			r.trusted(h.last, now)
		}
	}
}

// trusted records what an event shows, if that is proven to be newer than what we
// saw of the pod ourselves: it shows a container further than we did, and
// containers go one way. No stamp proves that, as runtimes stamp after
// collecting, replay, repeat, reorder and have clocks of their own; but a stamp
// can tell that something is wrong, and then the event is a hint only. So is
// every creation and deletion: contents from before a container was there look
// like those from after.
//
// How much newer nothing tells. So the entry keeps the time of our observation:
// what an event shows answers no GetNewerThan that a repetition of that
// observation would not answer, and the others wait for the one that the event
// asks for. (G2, G3, G9)
func (r *relister[K, S]) trusted(e *RuntimeEvent[K, S], now time.Time) {
	at, clean := local(now, e.At)
	p := r.pods[e.Pod]
	if !clean || p == nil || p.failures > 0 || e.Seen.Pod.ID != e.Pod || r.cache.instant(at) <= r.cache.floor() {
		return
	}
	seen := normal(e.Seen.Pod.Containers)
	if !at.After(p.until) || !p.containers.follow(seen, e.Container) {
		r.stats.StaleWrites++
		return
	}
	if r.cache.write(e.Pod, e.Seen.Status, nil, p.at, true) {
		r.apply(p, &observation{seen: seen, told: true}, p.containers.diff(seen))
		p.told = r.next()
	}
}

// follow reports whether seen can only be newer than what is known and told, if
// it comes with an event of the container own: it shows own further than known,
// and none behind what is known or told, left out or new.
func (cs containers) follow(seen []Container, own string) bool {
	there := make(map[string]bool, len(seen))
	for _, s := range seen {
		there[s.ID] = true
		c, r := cs[s.ID], rankOf(s.State)
		switch {
		case c == nil, !c.is.live(), r != unknown && r < max(c.is, c.told):
			return false
		case s.ID == own && (c.again || c.is == unknown || r <= c.is):
			return false
		}
	}
	for id, c := range cs {
		if c.is.live() && !there[id] {
			return false
		}
	}
	return there[own]
}
