package jobpolicy

import (
	"slices"
	"time"
)

// manage brings the number of active pods to what the Job wants. A plan either
// deletes pods or creates them, never both.
func (p *pass) manage() {
	if p.spec.Suspend {
		p.deleteSurplus(p.removable(p.active))
		return
	}
	wanted := p.wantedActive()
	if surplus := p.removable(p.active - wanted); len(surplus) > 0 {
		p.deleteSurplus(surplus[:min(len(surplus), p.engine.maxPerPass())])
		return
	}
	missing := wanted - p.active
	if p.spec.replaceOnlyFailed() {
		missing -= p.terminating
	}
	if missing > 0 {
		p.create(min(missing, p.engine.maxPerPass()))
	}
}

// wantedActive is how many pods should be active.
func (p *pass) wantedActive() int {
	parallelism := max(int(*p.spec.Parallelism), 0)
	if p.spec.Completions == nil {
		if p.succeededPods > 0 {
			return p.active // whatever runs may end; nothing new starts
		}
		return parallelism
	}
	return max(min(int(*p.spec.Completions)-p.succeededPods, parallelism), 0)
}

// create plans n pods, less those that must wait.
func (p *pass) create(n int) {
	if !p.perIndex {
		if wait := p.engine.jobWait(p.memory, p.now); wait > 0 {
			p.requeueDelay(wait)
			return
		}
	}
	if !p.indexed {
		for range n {
			p.plan.Create = append(p.plan.Create, p.newPod(-1, nil))
		}
		p.active += n
		return
	}
	ready, wait := p.startable(n)
	if wait > 0 {
		p.requeueDelay(wait)
	}
	keptPod := p.keptPods()
	for _, i := range ready {
		p.plan.Create = append(p.plan.Create, p.newPod(i, keptPod(i)))
	}
	p.active += len(ready)
}

// startable returns up to n pending indexes that can start now, and how long
// the others wait if there is room for them.
func (p *pass) startable(n int) ([]int, time.Duration) {
	if !p.perIndex {
		return p.pending(n, nil), 0
	}
	keptPod := p.keptPods()
	waitOf := func(i int) time.Duration {
		if last := keptPod(i); last != nil {
			return p.waitAfter(last)
		}
		return 0
	}
	if !p.engine.SkipWaiting {
		return readyIndexes(p.pending(n, nil), waitOf)
	}
	var waiting []int
	var shortest time.Duration
	for _, v := range p.kept {
		if wait := p.waitAfter(v); wait > 0 {
			waiting = append(waiting, v.index)
			if shortest == 0 || wait < shortest {
				shortest = wait
			}
		}
	}
	ready := p.pending(n, waiting)
	if len(ready) == n {
		shortest = 0
	}
	return ready, shortest
}

// waitAfter is how long the index of the kept pod waits.
func (p *pass) waitAfter(v *podView) time.Duration {
	return p.engine.indexWait(v.failures, v.ignored, p.match(v), p.endOf(v), p.now)
}

// endOf is when the kept pod ended, or if that lies ahead, when this was first
// noticed.
func (p *pass) endOf(v *podView) time.Time {
	end := v.finish()
	if seen, ok := p.memory.Ahead[v.identity()]; ok {
		end = earlier(end, seen)
	}
	return earlier(end, p.now)
}

// requeueDelay asks for a pass after a delay; short delays are batched.
func (p *pass) requeueDelay(d time.Duration) {
	if least := p.engine.minRequeue(); d < least {
		p.requeue(least, RequeueBatch)
	} else {
		p.requeue(d, RequeueDelay)
	}
}

// deleteActive plans the deletion of every active pod. Their finalizers stay:
// their ends still count.
func (p *pass) deleteActive() {
	for _, v := range p.pods {
		if v.active {
			p.plan.Delete = append(p.plan.Delete, Deletion{PodRef: v.ref()})
		}
	}
	p.terminating += p.active
	p.active, p.ready = 0, 0
}

// deleteSurplus plans the deletion of active pods that are not wanted.
func (p *pass) deleteSurplus(pods []*podView) {
	for _, v := range pods {
		p.plan.Delete = append(p.plan.Delete, Deletion{PodRef: v.ref(), Untrack: v.tracked})
		if v.ready() {
			p.ready--
		}
	}
	p.active -= len(pods)
	p.terminating += len(pods)
}

// removable returns the active pods to remove: all duplicates and pods without a
// place, and then, until there are atLeast, those that have come least far.
func (p *pass) removable(atLeast int) []*podView {
	var active []*podView
	for _, v := range p.pods {
		if v.active {
			active = append(active, v)
		}
	}
	var remove []*podView
	if p.indexed {
		remove, active = duplicates(active)
	}
	if short := atLeast - len(remove); short > 0 {
		slices.SortStableFunc(active, compareProgress)
		remove = append(remove, active[:min(short, len(active))]...)
	}
	return remove
}

// duplicates splits active pods, which are in the order of their index, into
// those without a place in the Job or behind another of their index, and the
// rest.
func duplicates(active []*podView) (remove, keep []*podView) {
	for len(active) > 0 {
		var same []*podView
		same, active = cutIndex(active)
		if same[0].inRange {
			slices.SortStableFunc(same, compareProgress)
			keep = append(keep, same[len(same)-1])
			same = same[:len(same)-1]
		}
		remove = append(remove, same...)
	}
	return remove, keep
}
