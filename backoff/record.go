package backoff

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// record is what a Restarter knows about one key. Times are steady times.
type record struct {
	last     Exit
	decision Decision
	due      time.Duration   // of the restart, if there is one
	told     time.Duration   // when the exit was told last
	booked   bool            // due is booked in the bucket
	recent   []time.Duration // when the restarts within Window were decided, oldest first; at most Limit
	keep     time.Duration   // how long after due and told the record can matter
}

// remaining is the wait that is left. It is within the Delay, for due is never
// further off and steady time never goes back.
func (r *record) remaining(now time.Duration) time.Duration {
	if !r.decision.Action.restarts() {
		return 0
	}
	return max(subtract(r.due, now), 0)
}

// allow counts one more restart against the limit, or reports that it is used up.
func (r *record) allow(limit int, window, now time.Duration) bool {
	if limit == 0 {
		return true
	}
	if window > 0 {
		r.recent = slices.DeleteFunc(r.recent, func(at time.Duration) bool { return subtract(now, at) >= window })
	}
	if len(r.recent) >= limit {
		return false
	}
	r.recent = append(r.recent, now)
	return true
}

// partCount is how many parts the records spread over; GC locks one at a time.
const partCount = 256

// records is a map from K to record in parts with a lock each.
type records[K comparable] struct {
	hasher[K]
	parts []recordPart[K]
}

type recordPart[K comparable] struct {
	mu  sync.Mutex
	all map[K]*record
	_   [48]byte // a cache line each
}

func newRecords[K comparable]() records[K] {
	r := records[K]{newHasher[K](), make([]recordPart[K], partCount)}
	for i := range r.parts {
		r.parts[i].all = map[K]*record{}
	}
	return r
}

func (r *records[K]) of(key K) *recordPart[K] {
	return &r.parts[r.hash(key)%partCount]
}

func (r *records[K]) len() int {
	n := 0
	for i := range r.parts {
		r.parts[i].mu.Lock()
		n += len(r.parts[i].all)
		r.parts[i].mu.Unlock()
	}
	return n
}

// keys returns the keys of one part.
func (p *recordPart[K]) keys() []K {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := make([]K, 0, len(p.all))
	for k := range p.all {
		keys = append(keys, k)
	}
	return keys
}

// sweep drops the records that drop reports, and returns how many. Parts that lose
// most of theirs are built anew: a map does not shrink.
func (r *records[K]) sweep(drop func(*record) bool) int {
	dropped := 0
	for i := range r.parts {
		p := &r.parts[i]
		p.mu.Lock()
		before := len(p.all)
		for k, rec := range p.all {
			if drop(rec) {
				delete(p.all, k)
			}
		}
		dropped += before - len(p.all)
		if len(p.all) < before/2 {
			kept := make(map[K]*record, len(p.all))
			maps.Copy(kept, p.all)
			p.all = kept
		}
		p.mu.Unlock()
	}
	return dropped
}
