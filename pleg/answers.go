package pleg

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// The Generator handles events and answers here, with its lock held.

type answer[K comparable, S any] struct {
	question question[K]
	pods     []Pod[K] // one for an inspection
	status   S
	err      error
	panicked any // the value of a panic of the Runtime
}

// event handles a runtime event.
func (g *Generator[K, S]) event(e RuntimeEvent[K]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	g.streamed.received = true
	g.stats.EventsReceived++
	if !e.At.IsZero() {
		switch late := now.Sub(e.At); {
		case late > mostLate:
			g.stats.SkewedEvents++
		default:
			g.stats.EventLatency.observe(late)
		}
	}
	queue.Signal(g.wake)
	if !g.want(e.Pod) {
		return
	}
	r := g.find(e.Pod)
	r.event(e, g.tick(), &g.former)
	g.count(r)
	g.missed.Drop(e.Pod)
}

// mostLate is the greatest latency of an event. A greater one is a difference of clocks.
const mostLate = time.Hour

// want asks for an inspection of a pod. It asks for a full list if key is the zero key, or
// if too many absent pods and claims are remembered. It reports whether the pod has a record.
func (g *Generator[K, S]) want(key K) bool {
	var none K
	if key == none {
		g.sched.wanted = true
		return false
	}
	if g.pods.Len()-g.cached+g.claims > mostAbsent+g.containers {
		if g.find(key) == nil || g.claims > mostAbsent+g.containers {
			g.sched.wanted = true
			return false
		}
	}
	g.record(key)
	g.sched.want(key, false)
	return true
}

// find returns the record of key, or nil.
func (g *Generator[K, S]) find(key K) *record[K] {
	if r := g.pods.Get(key); r != nil {
		return *r
	}
	return nil
}

// record returns the record of key, creating it if necessary.
func (g *Generator[K, S]) record(key K) *record[K] {
	r := g.find(key)
	if r == nil {
		r = &record[K]{pod: newPod(key)}
		*g.pods.Put(key) = r
	}
	return r
}

// count updates the counters of containers after a change of r, and forgets r if it is
// empty.
func (g *Generator[K, S]) count(r *record[K]) {
	g.containers += len(r.containers) - r.counted
	g.claims += len(r.pod.claims) - r.countedClaims
	r.counted, r.countedClaims = len(r.containers), len(r.pod.claims)
	g.former.known = g.containers
	for c, ok := g.former.forget(); ok; c, ok = g.former.forget() {
		g.publisher.forget(c)
	}
	if g.sched.forgetIdle(r.key) && !r.cached && r.sync == 0 && r.idle() {
		g.pods.Drop(r.key)
		r.gone = true
	}
}

// listAnswered handles the answer to a full list.
func (g *Generator[K, S]) listAnswered(pods []Pod[K], err error, now time.Time) {
	var none K
	for i := 0; err == nil && i < len(pods); i++ {
		if pods[i].ID == none {
			err = fmt.Errorf("pleg: Pods: pod %d has the zero key", i)
		}
	}
	ended := g.tick()
	if err == nil {
		err = g.arrange(pods, ended)
	}
	if err != nil {
		g.stats.RelistErrors++
		g.stats.RelistError = err
		g.sched.listFailed(err, now)
		return
	}
	g.sched.listAnswered(ended)
	for i, p := range pods {
		g.listed(g.order[i], p.Containers, ended, now)
	}
	if g.pods.Len() > len(pods) {
		for key := range g.pods.Keys() {
			if r := g.find(key); r.inList != ended {
				g.listed(r, nil, ended, now)
			}
		}
	}
	if g.cache.Len() != g.cached {
		g.reconcile()
	}
	for l := range g.publisher.logs {
		l.baseline = min(l.baseline, ended)
	}
}

// reconcile inspects the pods whose entries another writer has added or deleted.
func (g *Generator[K, S]) reconcile() {
	for key := range g.writer.Keys() {
		g.record(key)
	}
	for key := range g.pods.Keys() {
		r := g.find(key)
		if present := g.cache.Get(key).Present; present != r.cached {
			g.setCached(r, present)
			g.sched.need(key)
		}
	}
}

// setCached notes whether the entry of a pod is in the cache.
func (g *Generator[K, S]) setCached(r *record[K], cached bool) {
	switch {
	case cached && !r.cached:
		g.cached++
	case !cached && r.cached:
		g.cached--
	}
	r.cached = cached
}

// isCached reports whether the entry of a pod is in the cache.
func (g *Generator[K, S]) isCached(key K) bool {
	r := g.find(key)
	return r != nil && r.cached
}

// arrange sets g.order to the records of pods and marks them. It returns an error if pods
// has a key twice.
func (g *Generator[K, S]) arrange(pods []Pod[K], list tick) error {
	for i := range pods {
		key := pods[i].ID
		if i >= len(g.order) {
			g.order = append(g.order, g.record(key))
		} else if g.order[i].key != key || g.order[i].gone {
			g.order[i] = g.record(key)
		}
		r := g.order[i]
		if r.inList == list {
			for _, r := range g.order[:i] {
				g.count(r) // forgets the new ones
			}
			return fmt.Errorf("pleg: Pods: pod %v is listed twice", key)
		}
		r.inList = list
	}
	clear(g.order[len(pods):]) // release them
	g.order = g.order[:len(pods)]
	return nil
}

// listed handles the containers of one pod in a full list that has been answered. If the
// list changes the pod, or overlapped with another answer, the list waits for an inspection
// of the pod, unless those fail.
func (g *Generator[K, S]) listed(r *record[K], seen []Container, ended tick, now time.Time) {
	l := g.sched.list
	settled, announced := r.settled, r.lastEvent > r.answered
	steps, inspect, unseen := r.list(seen, l.began, ended, &g.former)
	shown := r.inList == ended
	if settled && r.settled && shown == r.cached {
		return
	}
	g.stats.UnseenContainers += uint64(unseen)
	if steps > 0 && g.relying && !announced {
		g.noteMissed(r.key, steps, now)
	}
	inspect = inspect || shown != r.cached || r.sync > 0
	switch failing := g.sched.backsOff(r.key); {
	case failing && !l.explicit && g.cache.Get(r.key).Err != nil: // its entry has an error
		r.unsettle()
	case inspect, failing && l.explicit:
		r.unsettle()
		g.sched.need(r.key)
		if !r.cached && g.sched.isLate(r.key) { // the list does not wait for it, so the pod holds an error
			var none S
			if g.writer.SetInOrder(r.key, none, g.lateError(r.key), l.start) {
				g.setCached(r, true)
			}
		}
	case len(r.pod.claims) == 0:
		g.sched.dropRepeat(r.key)
	}
	g.count(r)
}

// noteMissed notes steps of a pod that a full list found before any event. They count as
// missed if none comes within a period.
func (g *Generator[K, S]) noteMissed(key K, steps int, now time.Time) {
	m := g.missed.Put(key)
	if m.steps == 0 {
		m.found = now
	}
	m.steps += steps
}

// inspectionAnswered handles the answer to an inspection. If it is as new as what is known,
// it goes to the cache, then to the pod, and the pod's steps go to the readers.
func (g *Generator[K, S]) inspectionAnswered(a answer[K, S], now time.Time) {
	key := a.question.pod
	f := g.sched.inspectionEnded(key)
	r := g.record(key)
	defer g.count(r)
	ended := g.tick()
	seen, present, err := a.inspected()
	back, old := r.stepsBack(seen, f.began)
	switch {
	case err != nil:
		if !f.late { // otherwise its error is known
			g.inspectionFailed(r, a.status, err, f, now)
		}
		return
	case back:
		if old {
			g.stats.StaleAnswers++
		}
		g.inspectionRefused(r, seen, old, f, ended, now)
		return
	case present && !g.writer.SetInOrder(key, a.status, nil, f.start), !present && !g.cache.Delete(key, f.start):
		// The entry holds as of a later time: that of a full list which began after this
		// inspection, or that of another writer. Or the cache is closed.
		g.inspectionRefused(r, seen, true, f, ended, now)
		return
	}
	steps, again := r.inspect(seen, f.began, ended, &g.former)
	behind, unseen := r.behind(f.began, &g.former)
	g.stats.UnseenContainers += uint64(unseen)
	recovered := g.sched.succeeded(key, f, !behind)
	r.refused = false
	changed := present != r.cached || recovered && present // the entry, perhaps without a step
	g.setCached(r, present)
	sync := r.syncDue(f.began) || changed && !hasEvent(steps)
	g.publisher.events(key, steps, sync, g.cached, g.isCached)
	g.publisher.exits(steps, g.containers)
	if !present && g.writer.Counts().Tombstones > mostAbsent+g.containers {
		g.sched.wanted = true // its start ends the tombstones
	}
	switch {
	case again:
		g.sched.want(key, false)
	case behind:
		g.sched.repeat(key, now)
	}
}

// inspected returns the containers in the answer to an inspection, each once, and whether
// the pod is there.
func (a answer[K, S]) inspected() (seen []Container, present bool, err error) {
	switch {
	case errors.Is(a.err, ErrNotFound):
		return nil, false, nil
	case a.err != nil:
		return nil, false, a.err
	}
	seen = distinct(a.pods[0].Containers)
	if id := a.pods[0].ID; id != a.question.pod {
		return nil, false, fmt.Errorf("pleg: Pod(%v): the answer is about pod %v", a.question.pod, id)
	}
	return seen, true, nil
}

// syncDue reports whether the inspection that began at began must end with a PodSync.
func (r *record[K]) syncDue(began tick) bool {
	due := r.sync > 0
	if r.sync < began {
		r.sync = 0 // otherwise the request came later, and gets one with the next inspection, too
	}
	return due
}

// inspectionRefused handles an answer that is older than what is known, and asks once more.
// If the next answer is refused as well, that inspection has failed. An inspection that
// overlapped with the newer answer does not count, because the next one cannot overlap.
func (g *Generator[K, S]) inspectionRefused(r *record[K], seen []Container, counts bool, f flight, ended tick, now time.Time) {
	r.observeAll(seen, f.began, ended, &g.former)
	if counts && r.refused {
		var none S
		g.inspectionFailed(r, none, fmt.Errorf("pleg: Pod(%v): the answer is older than another one", r.key), f, now)
		return
	}
	r.refused = r.refused || counts
	g.sched.again(r.key)
}

// inspectionFailed handles the error of an inspection. It is stored if there is reason to
// believe that the pod exists. Ends in full lists wait for at most two failures.
func (g *Generator[K, S]) inspectionFailed(r *record[K], status S, err error, f flight, now time.Time) {
	r.unsettle()
	failures := g.sched.fail(r.key, f, now)
	if r.cached || r.inList > 0 || len(r.containers) > 0 {
		if isZero(status) {
			status = g.cache.Get(r.key).Status
		}
		if g.writer.SetInOrder(r.key, status, err, f.start) {
			g.setCached(r, true)
		}
	}
	if failures > 1 {
		g.publisher.exits(r.report(), g.containers)
	}
}

// isZero reports whether status is the zero S, so that the runtime returned no status.
func isZero[S any](status S) bool { return reflect.ValueOf(&status).Elem().IsZero() }

// inspectionLate handles an inspection whose deadline has passed.
func (g *Generator[K, S]) inspectionLate(key K, now time.Time) {
	f := g.sched.late(key)
	r := g.record(key)
	defer g.count(r)
	var none S
	g.inspectionFailed(r, none, g.lateError(key), f, now)
}

// lateError is the error of an inspection whose deadline has passed.
func (g *Generator[K, S]) lateError(key K) error {
	return fmt.Errorf("pleg: Pod(%v): no answer within %v: %w", key, g.o.PodTimeout, context.DeadlineExceeded)
}

// finishList ends the full list in progress.
func (g *Generator[K, S]) finishList(now time.Time) {
	start := g.sched.list.start
	g.sched.finishList(now)
	g.stats.RelistDuration.observe(now.Sub(start))
	if g.stats.Relists > 0 {
		g.stats.RelistInterval.observe(start.Sub(g.stats.LastSeen))
	}
	g.stats.Relists++
	g.stats.RelistError = nil
	g.stats.LastSeen = start
	g.streamed.listed(start)
}

// countMissed counts the steps that no event has reported for a period, and returns when
// to do so again.
func (g *Generator[K, S]) countMissed(now time.Time) (next wakeup) {
	for key := range g.missed.Keys() {
		u := g.missed.Get(key)
		if at := u.found.Add(g.o.RelistPeriod); at.After(now) {
			return wakeAt(at)
		}
		g.stats.MissedEvents += uint64(u.steps)
		g.missed.Drop(key)
	}
	return wakeup{}
}
