package pleg

import (
	"context"
	"iter"
)

// slotEvents is how many events of one pod a reader of Events may be behind
// before they become one PodSync.
const slotEvents = 8

// A reader is the place of one Events loop: what it has yet to yield, by pod.
type reader[K comparable] struct {
	due  mailbox[K, []Event[K]]
	lost bool          // pods came and went that are not in due
	wake chan struct{} // holds one token while the loop has reason to look
}

// emit gives the readers events of one pod.
func (r *relister[K, S]) emit(key K, events []Event[K]) {
	if len(events) == 0 {
		return
	}
	for rd := range r.readers {
		slot := rd.due.put(key)
		switch merged := len(*slot) > 0 && (*slot)[0].Type == PodSync && cap(*slot) == 1; {
		case merged:
			r.stats.MergedEvents += uint64(len(events))
		case len(*slot)+len(events) > slotEvents:
			r.stats.MergedEvents += uint64(len(*slot) + len(events))
			*slot = []Event[K]{{Pod: key, Type: PodSync}}
		default:
			*slot = append(*slot, events...)
		}
		if rd.due.len() > strangers+2*r.present {
			r.shed(rd)
		}
		poke(rd.wake)
	}
}

// shed drops what a reader has to be told of pods that are gone, in favour of
// one PodSync without a pod.
func (r *relister[K, S]) shed(rd *reader[K]) {
	for key, s := range rd.due.slots {
		if p := r.pods[key]; p == nil || !p.present {
			r.stats.MergedEvents += uint64(len(s.value))
			rd.due.drop(key)
		}
	}
	rd.lost = true
}

// join adds a reader that is due a PodSync of every pod that is there.
func (r *relister[K, S]) join() *reader[K] {
	rd := &reader[K]{wake: make(chan struct{}, 1)}
	for _, p := range r.order {
		if p.present {
			*rd.due.put(p.key) = append(make([]Event[K], 0, 2), Event[K]{Pod: p.key, Type: PodSync})
		}
	}
	r.readers[rd] = struct{}{}
	return rd
}

// take removes what a reader is to yield next.
func (rd *reader[K]) take() ([]Event[K], bool) {
	if rd.lost {
		rd.lost = false
		return []Event[K]{{Type: PodSync}}, true
	}
	_, events, ok := rd.due.take()
	return events, ok
}

// Events yields what happens to pods. Each loop has a place of its own and
// begins with one PodSync per known pod. From there on nothing is lost: events
// of one pod come in order, and after its entry in the cache; a loop that is
// slow gets one PodSync in place of many events of a pod, which then stands for
// its exits too. A PodSync without a pod (the zero key) stands for more pods
// that came and went than are worth remembering: look at all of them.
//
// A loop ends with its context at once, and after the Close of the cache when
// it has yielded what is pending; it leaves nothing behind when the body breaks.
func (g *Generator[K, S]) Events(ctx context.Context) iter.Seq[Event[K]] {
	return func(yield func(Event[K]) bool) {
		g.mu.Lock()
		rd := g.core.join()
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			delete(g.core.readers, rd)
			g.mu.Unlock()
		}()
		for {
			closed := g.cache.isClosed()
			g.mu.Lock()
			events, ok := rd.take()
			g.mu.Unlock()
			for _, e := range events {
				if ctx.Err() != nil || !yield(e) {
					return
				}
			}
			switch {
			case ok:
				continue
			case closed:
				return
			}
			select {
			case <-rd.wake:
			case <-ctx.Done():
				return
			case <-g.cache.done:
			}
		}
	}
}
