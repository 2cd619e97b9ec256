package pleg

import (
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg/internal/queue"
)

// A question is a call of the Runtime to make.
type question[K comparable] struct {
	list     bool // of all pods
	pod      K    // to be inspected
	began    tick
	start    time.Time
	deadline time.Time
}

// A scheduler decides which call of the Runtime comes next. It knows the pods by their
// keys only, and nothing of their containers. It reads no clock and makes no calls.
//
// A pod has at most one inspection in flight and one wanted. An inspection is wanted now,
// after a backoff, or, if the last one lacked the claim of an event, after a pause. At most
// one full list is in progress. It has ended once it was answered and the inspections that
// it needs have ended, each of which began after its answer.
type scheduler[K comparable] struct {
	o limits

	pods       map[K]*work
	ready      queue.Queue[K, struct{}] // an inspection is wanted and may begin
	delayed    queue.Queue[K, struct{}] // one is wanted at work.notBefore
	next       time.Time                // the earliest of these times, or before it; zero if none
	inspecting int                      // inspections in flight

	list     *fullList[K] // in progress, or nil
	answered bool         // a full list was answered without an error; until then no inspection begins
	hadList  bool         // a full list has ended or failed
	failed   bool         // the last one failed
	wanted   bool         // a list is wanted before the period is over
	listEnd  time.Time    // of the last full list
	waiters  []*relistWaiter
}

// limits are the options of a scheduler.
type limits struct {
	period         time.Duration // the short one
	listTimeout    time.Duration
	inspectTimeout time.Duration
	concurrent     int
	firstRepeat    time.Duration
	failurePause   backoff.Policy
}

// work holds the inspections of one pod, wanted or in progress.
type work struct {
	wanted    bool   // one that begins later
	urgent    bool   // regardless of notBefore
	notBefore wakeup // any time if unset
	failures  int    // in a row
	repeats   int    // in a row
	flight    *flight
}

// A flight is an inspection in progress.
type flight struct {
	began tick
	start time.Time
	late  bool // its deadline has passed, and its error is noted
}

// A fullList is a full list in progress.
type fullList[K comparable] struct {
	began    tick
	start    time.Time
	explicit bool           // for Relist, so failing pods are inspected without a wait
	answered tick           // when the answer came; 0 before
	needs    map[K]struct{} // pods of which it waits for an inspection that begins after answered
}

// A relistWaiter waits for a full list that begins after it.
type relistWaiter struct {
	since tick
	done  chan error // receives once
}

func newScheduler[K comparable](o limits) *scheduler[K] {
	return &scheduler[K]{o: o, pods: map[K]*work{}}
}

func (s *scheduler[K]) of(key K) *work {
	w := s.pods[key]
	if w == nil {
		w = &work{}
		s.pods[key] = w
	}
	return w
}

// want asks for an inspection that begins from now on. An urgent one does not wait for the
// end of a backoff.
func (s *scheduler[K]) want(key K, urgent bool) {
	w := s.of(key)
	w.wanted, w.urgent, w.repeats = true, w.urgent || urgent, 0
	if w.failures == 0 {
		w.notBefore = wakeup{}
	}
	s.ready.Put(key)
}

// need is like want. A full list that is answered but not yet published also waits until this
// inspection has succeeded or failed, unless an earlier call for the pod is late and may
// never return.
func (s *scheduler[K]) need(key K) {
	s.want(key, true)
	if w := s.pods[key]; w.flight != nil && w.flight.late {
		return
	}
	if s.list.needs == nil {
		s.list.needs = map[K]struct{}{}
	}
	s.list.needs[key] = struct{}{}
}

// needed reports whether the full list in progress waits for an inspection of the pod.
func (s *scheduler[K]) needed(key K) bool {
	if s.list == nil {
		return false
	}
	_, needed := s.list.needs[key]
	return needed
}

// release ends that wait after an inspection, unless it began before the list was answered.
func (s *scheduler[K]) release(key K, f flight) {
	if s.list != nil && f.began > s.list.answered {
		delete(s.list.needs, key)
	}
}

// repeat asks for an inspection after a pause, because the last one lacks the claim of an
// event. The pauses double, up to the period.
func (s *scheduler[K]) repeat(key K, now time.Time) {
	w := s.of(key)
	if w.wanted {
		return // and sooner
	}
	pause := s.o.firstRepeat << min(w.repeats, 16)
	w.repeats++
	w.wanted, w.notBefore = true, wakeAt(now.Add(min(pause, s.o.period)))
	s.ready.Put(key)
}

// dropRepeat ends the repeats of an inspection, because a full list has been answered.
func (s *scheduler[K]) dropRepeat(key K) {
	if w := s.pods[key]; w != nil && w.repeats > 0 && w.failures == 0 {
		w.wanted, w.repeats = false, 0
	}
}

// begin returns the calls to make now. Outside Run, running is false, and the only full
// lists are those for Relist. period is the one in force between full lists. count
// counts questions.
func (s *scheduler[K]) begin(now time.Time, running bool, period time.Duration, count func() tick) (calls []question[K]) {
	s.endDelays(now)
	for s.answered && s.inspecting < s.o.concurrent {
		key, _, ok := s.ready.Take()
		if !ok {
			break
		}
		w := s.pods[key]
		switch {
		case w == nil || !w.wanted || w.flight != nil:
			continue
		case !w.urgent && w.notBefore.isAfter(now):
			s.delay(key, w.notBefore.at)
			continue
		}
		w.flight = &flight{began: count(), start: now}
		w.wanted, w.urgent = false, false
		s.inspecting++
		calls = append(calls, question[K]{pod: key, began: w.flight.began, start: now, deadline: now.Add(s.o.inspectTimeout)})
	}
	if s.due(now, running, period) {
		s.wanted = false
		s.list = &fullList[K]{began: count(), start: now, explicit: len(s.waiters) > 0}
		calls = append(calls, question[K]{list: true, began: s.list.began, start: now, deadline: now.Add(s.o.listTimeout)})
	}
	return calls
}

// delay keeps a pod until a time.
func (s *scheduler[K]) delay(key K, at time.Time) {
	if s.delayed.Len() == 0 || at.Before(s.next) {
		s.next = at
	}
	s.delayed.Put(key)
}

// endDelays readies the pods whose time has come.
func (s *scheduler[K]) endDelays(now time.Time) {
	if s.delayed.Len() == 0 || s.next.After(now) {
		return
	}
	list := s.delayed
	s.delayed = queue.Queue[K, struct{}]{}
	for key := range list.Keys() {
		switch w := s.pods[key]; {
		case w == nil || !w.wanted:
		case w.notBefore.isAfter(now):
			s.delay(key, w.notBefore.at)
		default:
			s.ready.Put(key)
		}
	}
}

// due reports whether a full list must begin.
func (s *scheduler[K]) due(now time.Time, running bool, period time.Duration) bool {
	switch {
	case s.list != nil:
		return false
	case len(s.waiters) > 0:
		return true
	}
	return running && (!s.hadList || !now.Before(s.dueAt(period)))
}

// dueAt returns when the next full list is due, if one has ended.
func (s *scheduler[K]) dueAt(period time.Duration) time.Time {
	if s.failed || s.wanted {
		period = min(period, s.o.period)
	}
	return s.listEnd.Add(period)
}

// wakeup returns when to call begin again, if no answer comes before.
func (s *scheduler[K]) wakeup(running bool, period time.Duration) (w wakeup) {
	if s.delayed.Len() > 0 {
		w = wakeAt(s.next)
	}
	if running && s.list == nil {
		w = w.or(wakeAt(s.dueAt(period)))
	}
	return w
}

// backsOff reports whether inspections of the pod fail.
func (s *scheduler[K]) backsOff(key K) bool {
	w := s.pods[key]
	return w != nil && w.failures > 0
}

// inspectionEnded ends the inspection of a pod. The caller then calls succeeded, fail or again.
func (s *scheduler[K]) inspectionEnded(key K) flight {
	w := s.pods[key]
	f := *w.flight
	w.flight = nil
	s.inspecting--
	if w.wanted {
		s.ready.Put(key)
	}
	return f
}

// late notes that an inspection has passed its deadline, which makes it fail. If an answer
// comes all the same, it is used, and an error is ignored. The full list in progress does
// not wait for this inspection or the next one, because the call may never return.
func (s *scheduler[K]) late(key K) flight {
	if s.list != nil {
		delete(s.list.needs, key)
	}
	f := s.pods[key].flight
	f.late = true
	return *f
}

// isLate reports whether the inspection of a pod is past its deadline and has not ended.
func (s *scheduler[K]) isLate(key K) bool {
	w := s.pods[key]
	return w != nil && w.flight != nil && w.flight.late
}

// succeeded notes that an inspection was used. It ends the backoff of the pod, and reports
// whether there was one. complete reports whether the inspection showed what events claim.
func (s *scheduler[K]) succeeded(key K, f flight, complete bool) (failed bool) {
	s.release(key, f)
	w := s.pods[key]
	failed = w.failures > 0
	if w.failures = 0; complete {
		w.repeats = 0
	}
	return failed
}

// again asks for another inspection in place of one whose answer was not used. A full list
// that waited for it waits for the other one.
func (s *scheduler[K]) again(key K) { s.want(key, s.needed(key)) }

// fail notes that an inspection failed. It starts or prolongs the backoff of the pod, after
// which it is inspected again, and returns how many inspections have failed in a row.
func (s *scheduler[K]) fail(key K, f flight, now time.Time) (failures int) {
	s.release(key, f)
	w := s.of(key)
	w.failures++
	w.wanted, w.notBefore = true, wakeAt(now.Add(s.o.failurePause.Delay(w.failures)))
	s.ready.Put(key)
	return w.failures
}

// forgetIdle forgets a pod without any work, and reports whether it has none.
func (s *scheduler[K]) forgetIdle(key K) bool {
	w := s.pods[key]
	if w != nil && (w.wanted || w.flight != nil || w.failures > 0) {
		return false
	}
	delete(s.pods, key)
	return true
}

// listAnswered notes when the full list in progress was answered. The caller then calls need
// for the pods that the list waits for.
func (s *scheduler[K]) listAnswered(at tick) {
	s.list.answered, s.answered = at, true
}

// listFailed ends the full list in progress with an error.
func (s *scheduler[K]) listFailed(err error, now time.Time) {
	began := s.list.began
	s.list = nil
	s.hadList, s.failed, s.listEnd = true, true, now
	s.notify(began, err)
}

// listDone reports whether the full list in progress has ended, and its start.
func (s *scheduler[K]) listDone() (start time.Time, ok bool) {
	if s.list == nil || s.list.answered == 0 || len(s.list.needs) > 0 {
		return time.Time{}, false
	}
	return s.list.start, true
}

// finishList ends the full list in progress.
func (s *scheduler[K]) finishList(now time.Time) {
	began := s.list.began
	s.list = nil
	s.hadList, s.failed, s.listEnd = true, false, now
	s.notify(began, nil)
}

// notify sends the outcome of a full list to the waiters from before its start.
func (s *scheduler[K]) notify(began tick, err error) {
	s.waiters = slices.DeleteFunc(s.waiters, func(w *relistWaiter) bool {
		if w.since >= began {
			return false
		}
		w.done <- err
		return true
	})
}

// dropWaiter forgets a waiter.
func (s *scheduler[K]) dropWaiter(w *relistWaiter) {
	s.waiters = slices.DeleteFunc(s.waiters, func(x *relistWaiter) bool { return x == w })
}

// abandon forgets the calls in flight, because their answers will not come, and wants new
// ones.
func (s *scheduler[K]) abandon() {
	if s.list != nil {
		s.list, s.wanted = nil, true
	}
	s.inspecting = 0
	for key, w := range s.pods {
		if w.flight != nil {
			w.flight = nil
			s.want(key, false)
		}
	}
}

// A wakeup is the time of the next step. The zero value means never. It uses a flag
// because a clock may show the zero time.
type wakeup struct {
	at  time.Time
	set bool
}

func wakeAt(t time.Time) wakeup { return wakeup{t, true} }

// isAfter reports whether w is set and later than t.
func (w wakeup) isAfter(t time.Time) bool { return w.set && w.at.After(t) }

// or returns the earlier of two wakeups.
func (w wakeup) or(x wakeup) wakeup {
	if !w.set || x.set && x.at.Before(w.at) {
		return x
	}
	return w
}
