package decide

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/restartrules"
)

// State is the memory between steps. Create one with NewState.
//
// Invariants of every step, for each record in Plan.Remove:
//
//  1. its pod has opted in and is neither ending nor starting all containers over
//  2. it has exited, and is the only record of its name, in the pod's only ready sandbox,
//     which is the newest
//  3. the API server shows this exit or, for a static pod, a kubelet has had the time
//     Settle to see it
//  4. it is not of an init container, all of which have a record in the sandbox that
//     prevents another run
//  5. Kubernetes' own policy restarts its container, and only that
//  6. its newest log continues the restart count
//  7. its delay by the pod's rules is over, or was ended, and so is Limits.MinDelay
//  8. the node and the pod's namespace have not used up their restarts
//
// A State that was lost, or a clock that was set, delays a removal, starts a curve over,
// cuts MinDelay short or fills the budget, and has no other effect.
type State struct {
	clock     *instant
	restarter *backoff.Restarter[string]
	budget    *budget

	seen    map[string]sighting            // exited records, and those named PokeName, by id
	ended   map[string]bool                // ids whose waits were ended
	now     map[string]string              // the pods' annotation restart-now, by UID
	rules   map[string]*restartrules.Rules // that decided on the pods' exits, by UID
	removed map[string]bool                // containers of static pods that wait for a record
	tries   map[string]attempts            // removals, by id
	pokes   map[string]attempts            // by container

	next map[string]time.Duration // when a pod awaits a step, by UID
}

// sighting is the first observation of a record in its present state.
type sighting struct {
	pod               string
	at                time.Duration
	created, finished time.Time
}

// attempts are repetitions of a step.
type attempts struct {
	n    int
	next time.Duration // earliest time of another
}

type instant struct{ now time.Time }

func (i *instant) Now() time.Time                  { return i.now }
func (i *instant) Since(t time.Time) time.Duration { return i.now.Sub(t) }

// NewState returns an empty State.
func NewState(l Limits) *State {
	s := &State{
		clock:   &instant{},
		budget:  newBudget(l),
		seen:    make(map[string]sighting),
		ended:   make(map[string]bool),
		now:     make(map[string]string),
		rules:   make(map[string]*restartrules.Rules),
		removed: make(map[string]bool),
		tries:   make(map[string]attempts),
		pokes:   make(map[string]attempts),
		next:    make(map[string]time.Duration),
	}
	r, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Clock: s.clock})
	if err != nil {
		panic(err) // the options are constant
	}
	s.restarter = r
	return s
}

// key names a container of a pod.
func key(pod, container string) string { return pod + "/" + container }

// step is one call of Step.
type step struct {
	*State
	o          Observation
	plan       Plan
	records    map[string][]Record  // by pod
	boxes      map[string][]Sandbox // by pod
	candidates []candidate
}

// Meet notes the value of the annotation restart-now of new pods. Only a later
// change ends a wait. Step does the same for its pods.
func (s *State) Meet(pod, now string) {
	if _, known := s.now[pod]; !known {
		s.now[pod] = now
	}
}

// Forget drops the values that Meet has noted of pods that are not known any more. Step drops
// those, and all other memory of such pods, itself.
func (s *State) Forget(known func(pod string) bool) {
	maps.DeleteFunc(s.now, func(pod, _ string) bool { return !known(pod) })
}

// Due returns the UIDs of the pods that await a step at this time.
func (s *State) Due(elapsed time.Duration) map[string]bool {
	due := make(map[string]bool)
	for uid, at := range s.next {
		if elapsed >= at {
			due[uid] = true
		}
	}
	return due
}

// Step returns the plan for the instant of o.
func (s *State) Step(o Observation) Plan {
	s.clock.now = o.Now
	st := &step{State: s, o: o, records: make(map[string][]Record), boxes: make(map[string][]Sandbox)}
	for _, r := range o.Records {
		st.records[r.Pod] = append(st.records[r.Pod], r)
	}
	for _, b := range o.Sandboxes {
		st.boxes[b.Pod] = append(st.boxes[b.Pod], b)
	}
	maps.DeleteFunc(s.next, func(uid string, _ time.Duration) bool { return st.listed(uid) })
	st.sight()
	for i := range o.Pods {
		if p := &o.Pods[i]; st.listed(p.UID) {
			st.pod(p)
		} else {
			s.Meet(p.UID, p.Now)
		}
	}
	st.grant()
	st.forget()
	for _, at := range s.next {
		if d := max(at-o.Elapsed, time.Millisecond); st.plan.Next == 0 || d < st.plan.Next {
			st.plan.Next = d
		}
	}
	return st.plan
}

func (s *step) listed(pod string) bool { return s.o.Listed == nil || s.o.Listed[pod] }

// again makes the pod's next step follow within d.
func (s *step) again(pod string, d time.Duration) {
	at := s.o.Elapsed + d
	if next, ok := s.next[pod]; !ok || at < next {
		s.next[pod] = at
	}
}

// sight notes new exits and pokes, and ends pokes that a kubelet has seen.
func (s *step) sight() {
	for _, r := range s.o.Records {
		poke := r.Name == PokeName && r.State == Created
		if r.State != Exited && !poke {
			continue
		}
		first, ok := s.seen[r.ID]
		if ok && !first.created.Equal(r.Created) { // another record with its id
			delete(s.ended, r.ID)
			delete(s.tries, r.ID)
		}
		if !ok || !first.created.Equal(r.Created) || !first.finished.Equal(r.Finished) {
			first = sighting{r.Pod, s.o.Elapsed, r.Created, r.Finished}
			s.seen[r.ID] = first
		}
		if !poke {
			continue
		}
		if rest := first.at + Settle - s.o.Elapsed; rest > 0 {
			s.again(r.Pod, rest)
		} else if s.try(s.tries, r.Pod, r.ID) {
			s.plan.Unpoke = append(s.plan.Unpoke, r.ID)
		}
	}
}

// try reports whether a step of a pod may be repeated now, and if so counts the
// repetition.
func (s *step) try(of map[string]attempts, pod, id string) bool {
	a := of[id]
	if s.o.Elapsed < a.next {
		s.again(pod, a.next-s.o.Elapsed)
		return false
	}
	wait := PokeEvery
	for i := pokesFast; i <= a.n && wait < PokeMax; i++ {
		wait *= 2
	}
	wait = min(wait, PokeMax)
	of[id] = attempts{a.n + 1, s.o.Elapsed + wait}
	s.again(pod, wait)
	return true
}

func (s *step) pod(p *Pod) {
	last, known := s.now[p.UID]
	s.now[p.UID] = p.Now
	if !p.OptedIn() {
		return
	}
	if rules := s.rules[p.UID]; rules != p.Rules && !reflect.DeepEqual(rules, p.Rules) {
		for _, c := range p.Containers { // the new rules decide on the last exits, and count from them
			s.restarter.Reset(key(p.UID, c.Name))
		}
		if s.o.DryRun { // they may plan a removal again
			for _, r := range s.records[p.UID] {
				delete(s.tries, r.ID)
			}
		}
	}
	s.rules[p.UID] = p.Rules
	end := s.o.End && p.Rules != nil || known && p.Now != "" && p.Now != last
	records := s.records[p.UID]
	slices.SortFunc(records, func(a, b Record) int { return b.Created.Compare(a.Created) }) // newest first
	box, ready := s.sandbox(p.UID)
	for _, c := range p.Containers {
		if c.Init {
			continue
		}
		k := key(p.UID, c.Name)
		all := named(records, c.Name)
		switch {
		case len(all) == 0:
			before := s.pokes[k].n
			if ready && !p.Ended && s.awaits(p, c.Name) && s.try(s.pokes, p.UID, k) {
				byRecord := p.Static || before >= pokesOfAPI && (before-pokesOfAPI)%2 == 0
				s.plan.Poke = append(s.plan.Poke, Poke{Pod: p.UID, Container: c.Name, Sandbox: box, ByRecord: byRecord})
				if byRecord {
					s.again(p.UID, Settle) // to remove the record
				}
			}
			continue
		case all[0].State != Exited:
			delete(s.pokes, k)
			delete(s.removed, k)
			continue
		}
		r := all[0]
		if end {
			s.ended[r.ID] = true
		}
		v := Verdict{Record: r}
		v.Reason, v.Wait = s.judge(p, c, r, len(all), records, box, ready)
		if rest := s.tries[r.ID].next - s.o.Elapsed; v.Reason == ReasonDue && rest > 0 {
			v.Reason = ReasonRetry
			if !s.o.DryRun {
				s.again(p.UID, rest)
			}
		}
		switch v.Reason {
		case ReasonDue:
			s.candidates = append(s.candidates, candidate{p, r, len(s.plan.Verdicts)})
		case ReasonWaiting:
			s.again(p.UID, v.Wait)
		case ReasonNotShown:
			if p.Static {
				s.again(p.UID, s.seen[r.ID].at+Settle-s.o.Elapsed)
			}
		case ReasonOlder, ReasonSandbox, ReasonInit, ReasonUnread, ReasonLog:
			s.again(p.UID, Poll)
		}
		s.plan.Verdicts = append(s.plan.Verdicts, v)
	}
}

// grant plans the removal of the due records, as far as the budget allows.
func (s *step) grant() {
	for len(s.candidates) > 0 {
		i := s.budget.next(s.candidates)
		c := s.candidates[i]
		s.candidates = slices.Delete(s.candidates, i, i+1)
		if wait := s.budget.take(c.pod, s.o.Elapsed); wait > 0 {
			v := &s.plan.Verdicts[c.verdict]
			v.Reason, v.Wait = ReasonBudget, wait
			s.again(c.pod.UID, wait)
			continue
		}
		s.plan.Remove = append(s.plan.Remove, c.record)
		if s.o.DryRun {
			s.tries[c.record.ID] = attempts{1, math.MaxInt64} // the record stays
			continue
		}
		s.try(s.tries, c.pod.UID, c.record.ID)
		s.again(c.pod.UID, 0) // to poke
		k := key(c.pod.UID, c.record.Name)
		if c.pod.Static {
			s.removed[k] = true
		}
		delete(s.pokes, k)
	}
}

// named returns the records of one name.
func named(records []Record, name string) []Record {
	var all []Record
	for _, r := range records {
		if r.Name == name {
			all = append(all, r)
		}
	}
	return all
}

// sandbox returns a pod's newest sandbox, and reports whether it is the only one that
// is ready.
func (s *step) sandbox(pod string) (id string, ready bool) {
	var newest *Sandbox
	n := 0
	for i, b := range s.boxes[pod] {
		if b.Ready {
			n++
		}
		if newest == nil || b.Created.After(newest.Created) {
			newest = &s.boxes[pod][i]
		}
	}
	if newest == nil {
		return "", false
	}
	return newest.ID, newest.Ready && n == 1
}

// awaits reports whether a container without a record has lost it by a removal. An
// restarted agent knows that from the API server.
func (s *step) awaits(p *Pod, container string) bool {
	if p.Static {
		return s.removed[key(p.UID, container)]
	}
	for _, exit := range p.Shown {
		if exit.Name == container {
			return true
		}
	}
	return false
}

// forget drops the memory of removed records and pods.
func (s *step) forget() {
	records := make(map[string]bool, len(s.o.Records))
	for _, r := range s.o.Records {
		records[r.ID] = true
	}
	containers, pods := make(map[string]bool), make(map[string]bool, len(s.o.Pods))
	for _, p := range s.o.Pods {
		pods[p.UID] = true
		for _, c := range p.Containers {
			containers[key(p.UID, c.Name)] = true
		}
	}
	for id, r := range s.seen {
		if !s.listed(r.pod) {
			records[id] = true
		}
	}
	drop(s.seen, records)
	drop(s.ended, records)
	drop(s.tries, records)
	drop(s.now, pods)
	drop(s.rules, pods)
	drop(s.removed, containers)
	drop(s.pokes, containers)
	s.budget.forget(s.o.Pods, s.o.Elapsed)
	for k := range s.restarter.All() {
		if !containers[k] {
			s.restarter.Reset(k)
		}
	}
}

func drop[V any](m map[string]V, keep map[string]bool) {
	for k := range m {
		if !keep[k] {
			delete(m, k)
		}
	}
}
