package jobworld

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Planner is a Controller that carries out the plans of an Engine, as a caller of
// package jobpolicy should. It names pods itself, so that it can repeat a creation
// without an answer. The zero value plans with delays of Kubernetes.
type Planner struct{ Engine jobpolicy.Engine }

// The Planner's facts about a pod.
const (
	handled       = 1 << iota // in State.Handled
	released                  // in State.Released
	created                   // but not seen yet
	deleted                   // but not seen as deleted yet
	untracked                 // but not seen without a finalizer yet
	createdUnsure             // without an answer
	deletedUnsure
	untrackUnsure // before its deletion

	unsureIndex = 8 // shift of the index, plus 1, of a pod whose creation had no answer
	unsureFacts = createdUnsure | 15<<unsureIndex
)

// The other facts, by their place in Memory.Global.
const (
	writtenSucceeded = iota
	writtenFailed
	writtenEnding
	writtenCompletions
	failures
	failuresAge // units
	ignored
	ignoredAge
)

// state returns the State in the memory.
func (*Planner) state(m Memory, now time.Time) (s jobpolicy.State) {
	s.Job = "job"
	g := &m.Global
	s.Written = jobpolicy.StatusProgress{
		Succeeded: int(g[writtenSucceeded]), Failed: int(g[writtenFailed]), Ending: g[writtenEnding] > 0, Completions: int(g[writtenCompletions]),
	}
	if s.Failures = int(g[failures]); s.Failures > 0 {
		s.LastFailure = now.Add(-time.Duration(g[failuresAge]) * Unit)
	}
	if s.Ignored = int(g[ignored]); s.Ignored > 0 {
		s.LastIgnored = now.Add(-time.Duration(g[ignoredAge]) * Unit)
	}
	s.Handled, s.Released = m.uids(handled), m.uids(released)
	return s
}

// keep puts a State into the memory.
func (c *Planner) keep(m *Memory, s jobpolicy.State, now time.Time) {
	age := func(last time.Time) byte { return byte(min(now.Sub(last), c.longest()) / Unit) }
	m.Global = [8]byte{writtenSucceeded: byte(s.Written.Succeeded), writtenFailed: byte(s.Written.Failed), writtenCompletions: byte(s.Written.Completions)}
	if s.Written.Ending {
		m.Global[writtenEnding] = 1
	}
	if m.Global[failures] = byte(s.Failures); s.Failures > 0 {
		m.Global[failuresAge] = age(s.LastFailure)
	}
	if m.Global[ignored] = byte(s.Ignored); s.Ignored > 0 {
		m.Global[ignoredAge] = age(s.LastIgnored)
	}
	for i := range m.Pods {
		m.Pods[i] &^= handled | released
	}
	m.mark(handled, s.Handled)
	m.mark(released, s.Released)
}

func (c *Planner) longest() time.Duration {
	if c.Engine.MaxDelay == 0 {
		return 10 * time.Minute
	}
	return c.Engine.MaxDelay
}

// uids returns the UIDs of the pods with one of the facts, or nil.
func (m *Memory) uids(facts uint16) (uids []string) {
	for i, f := range m.Pods {
		if f&facts != 0 {
			uids = append(uids, UID(i))
		}
	}
	return uids
}

func (m *Memory) mark(facts uint16, uids []string) {
	for _, uid := range uids {
		m.Pods[Slot(uid)] |= facts
	}
}

func (m *Memory) any(facts uint16) bool {
	return slices.ContainsFunc(m.Pods[:], func(f uint16) bool { return f&facts != 0 })
}

// Shown forgets the facts that the watch shows.
func (c *Planner) Shown(m Memory, _ View, late int) Memory {
	for i := range m.Pods {
		if i != late {
			m.Pods[i] &^= created | deleted | untracked | unsureFacts
		}
	}
	return m
}

// JobShown changes nothing, because plans tell an old Job by the State.
func (*Planner) JobShown(m Memory) Memory { return m }

// settle forgets deletions that the view shows.
func (m *Memory) settle(v View) {
	var there [Most]bool
	for _, p := range v.Pods {
		there[Slot(p.UID)] = p.DeletionTimestamp.IsZero()
	}
	for i := range m.Pods {
		if !there[i] {
			m.Pods[i] &^= deleted
		}
	}
}

// Waited makes failures older.
func (c *Planner) Waited(m Memory, units int) Memory {
	for _, streak := range [][2]int{{failures, failuresAge}, {ignored, ignoredAge}} {
		if m.Global[streak[0]] > 0 {
			m.Global[streak[1]] = byte(min(int(m.Global[streak[1]])+units, int(c.longest()/Unit)))
		}
	}
	return m
}

// Restarted keeps the State.
func (c *Planner) Restarted(m Memory, kept bool) Memory {
	if !kept {
		return Memory{}
	}
	for i := range m.Pods {
		m.Pods[i] &= handled | released
	}
	return m
}

// Pass plans and carries the plan out.
func (c *Planner) Pass(m Memory, v View, answers []Answer) Pass {
	p := planning{Planner: c, memory: m, view: v, answers: answers}
	p.run()
	return Pass{Request: p.next, Memory: p.memory, Requeue: p.requeue}
}

// planning is a pass.
type planning struct {
	*Planner
	memory  Memory
	view    View
	answers []Answer
	next    *Request // without an answer yet
	requeue time.Duration
}

// send sends a request. ok is false if the pass stops here, because there is no answer
// yet.
func (p *planning) send(r Request) (a Answer, ok bool) {
	if len(p.answers) == 0 {
		p.next = &r
		return Answer{}, false
	}
	a, p.answers = p.answers[0], p.answers[1:]
	return a, true
}

func (p *planning) run() {
	for i := range p.memory.Pods {
		facts := &p.memory.Pods[i]
		if *facts&deletedUnsure == 0 {
			continue
		}
		untrack := *facts&untrackUnsure != 0
		*facts &^= deletedUnsure | untrackUnsure
		if _, ok := p.delete(i, untrack); !ok {
			return
		}
	}
	if _, finished := p.view.Job.Status.Finished(); finished {
		p.memory = Memory{}
		return
	}
	p.memory.settle(p.view)
	in := jobpolicy.Input{
		Job: p.view.Job, Pods: p.view.Pods, Now: p.view.Now, State: p.state(p.memory, p.view.Now),
		ExpectationsPending: p.memory.any(created | deleted | deletedUnsure),
		FinalizersRemoved:   p.memory.uids(untracked),
	}
	plan := p.plan(in)
	if plan.RequeueReason == jobpolicy.RequeueStaleJob {
		p.requeue = 0 // the watch will show a newer one
		return
	}
	failed, ok := p.change(&plan)
	if !ok {
		return
	}
	if unsure := p.memory.any(createdUnsure | deletedUnsure); failed || unsure && !in.ExpectationsPending {
		in.NoPodChanges = failed
		in.ExpectationsPending = in.ExpectationsPending || unsure || p.memory.any(created|deleted)
		in.FinalizersRemoved = p.memory.uids(untracked)
		plan = p.plan(in)
	}
	p.record(&plan)
}

func (p *planning) plan(in jobpolicy.Input) jobpolicy.Plan {
	plan, err := p.Engine.Plan(in)
	if err != nil {
		panic(err) // the world has no invalid Jobs
	}
	p.requeue = plan.RequeueAfter
	return plan
}

// change deletes and creates pods. failed reports whether it could not do all of that.
func (p *planning) change(plan *jobpolicy.Plan) (failed, ok bool) {
	for _, d := range plan.Delete {
		done, ok := p.delete(Slot(d.UID), d.Untrack)
		if !ok {
			return false, false
		}
		failed = failed || !done
	}
	if failed {
		return true, true
	}
	wanted := p.memory.placeAll(plan.Create)
	for size, first := 1, 0; first < len(wanted); size, first = 2*size, first+size {
		for _, n := range wanted[first:min(first+size, len(wanted))] {
			done, ok := p.create(n)
			if !ok {
				return false, false
			}
			failed = failed || !done
		}
		if failed {
			break
		}
	}
	return failed, true
}

// delete deletes a pod, after removing its finalizer if untrack is set.
func (p *planning) delete(slot int, untrack bool) (done, ok bool) {
	facts := &p.memory.Pods[slot]
	lose := func() {
		if *facts |= deletedUnsure; untrack {
			*facts |= untrackUnsure
		}
	}
	if untrack {
		a, ok := p.send(Request{Kind: RemoveFinalizer, Pod: slot})
		switch {
		case !ok:
			return false, false
		case a.Outcome == Lost:
			lose()
			return false, true
		case a.Outcome == Refused:
			return false, true
		}
		*facts |= untracked
	}
	a, ok := p.send(Request{Kind: DeletePod, Pod: slot})
	switch {
	case !ok:
		return false, false
	case a.Outcome == Lost:
		lose()
	case a.Outcome == Done:
		*facts |= deleted
	}
	return a.Outcome == Done, true
}

// placed is a pod to create, in the slot of an earlier creation without an answer or,
// if that is negative, in a new one.
type placed struct {
	jobpolicy.Creation
	slot int
}

// placeAll assigns the slots of creations without an answer to wanted pods and returns
// those first. If the plan does not want all of these, their pods may still appear, so
// placeAll returns no others.
func (m *Memory) placeAll(wanted []jobpolicy.Creation) []placed {
	unsure := make(map[int][]int) // slots by index
	left := 0
	for i, facts := range m.Pods {
		if facts&createdUnsure != 0 {
			index := int(facts>>unsureIndex) - 1
			unsure[index] = append(unsure[index], i)
			left++
		}
	}
	var again, others []placed
	for _, n := range wanted {
		if slots := unsure[n.Index]; len(slots) > 0 {
			again, unsure[n.Index] = append(again, placed{n, slots[0]}), slots[1:]
			left--
		} else {
			others = append(others, placed{n, -1})
		}
	}
	if left > 0 {
		return again
	}
	return append(again, others...)
}

// create creates a pod.
func (p *planning) create(n placed) (done, ok bool) {
	r := Request{Kind: CreatePod, Pod: n.slot, Index: n.Index}
	r.Failures, r.Ignored = n.FailureCounts()
	a, ok := p.send(r)
	if !ok {
		return false, false
	}
	if r.Pod >= 0 && a.Outcome == Done {
		p.memory.Pods[r.Pod] &^= unsureFacts
	}
	switch a.Outcome {
	case Done:
		p.memory.Pods[a.Pod] |= created
	case Lost:
		p.memory.Pods[a.Pod] |= createdUnsure | uint16(n.Index+1)<<unsureIndex
	}
	return a.Outcome == Done, true
}

// record writes the status, removes finalizers, and writes the status again.
func (p *planning) record(plan *jobpolicy.Plan) {
	if !p.write(plan.InterimStatus) {
		return
	}
	p.keep(&p.memory, plan.State, p.view.Now)
	failed := false
	for _, ref := range plan.Release {
		a, ok := p.send(Request{Kind: RemoveFinalizer, Pod: Slot(ref.UID)})
		if !ok {
			return
		}
		if a.Outcome == Done {
			p.memory.Pods[Slot(ref.UID)] |= untracked
		} else {
			failed = true
		}
	}
	if !failed {
		p.write(plan.FinalStatus)
	}
}

// write writes a status unless it is nil. After a lost answer the controller reads the
// Job and finds the status written.
func (p *planning) write(status *batch.JobStatus) bool {
	if status == nil {
		return true
	}
	a, ok := p.send(Request{Kind: WriteStatus, Status: status})
	return ok && a.Outcome != Refused
}
