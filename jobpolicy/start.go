package jobpolicy

import "time"

// creations returns up to n pods to create now, and how long the others wait.
func (v *view) creations(n int, m State) (pods []Creation, wait time.Duration) {
	if !v.perIndex {
		if wait = v.engine.jobWait(m, v.in.Now); wait > 0 {
			return nil, wait
		}
	}
	if !v.indexed {
		for range n {
			pods = append(pods, newCreation(v.in.Job, -1))
		}
		return pods, 0
	}
	ready, wait := v.startable(n)
	for _, i := range ready {
		pods = append(pods, v.attempt(i))
	}
	return pods, wait
}

// attempt returns the next pod of an index. With a limit per index the pod carries the
// failures up to and including its predecessor's.
func (v *view) attempt(index int) Creation {
	n := newCreation(v.in.Job, index)
	if v.perIndex {
		failures, ignored := 0, 0
		if p := v.predecessor(index); p != nil {
			failures, ignored = p.match.NextCounts(p.failures, p.ignored)
		}
		n.SetFailureCounts(failures, ignored)
	}
	return n
}

// startable returns up to n pending indexes that can start now, and how long the others
// wait if fewer than n can.
func (v *view) startable(n int) (ready []int, wait time.Duration) {
	switch {
	case !v.perIndex:
		return v.pending(n, nil), 0
	case !v.engine.StartReadyIndexes:
		return readyIndexes(v.pending(n, nil), func(i int) time.Duration { return v.waitAfter(v.predecessor(i)) })
	}
	var waiting []int
	for _, p := range v.predecessors {
		if w := v.waitAfter(p); w > 0 {
			waiting = append(waiting, p.index)
			if wait == 0 || w < wait {
				wait = w
			}
		}
	}
	if ready = v.pending(n, waiting); len(ready) == n {
		wait = 0
	}
	return ready, wait
}

// readyIndexes returns the candidates, which are in ascending order, that need not
// wait. If all must, wait is the shortest wait.
func readyIndexes(candidates []int, waitOf func(index int) time.Duration) (ready []int, wait time.Duration) {
	for _, i := range candidates {
		switch w := waitOf(i); {
		case w == 0:
			ready = append(ready, i)
		case wait == 0 || w < wait:
			wait = w
		}
	}
	if len(ready) > 0 {
		wait = 0
	}
	return ready, wait
}

// pending returns the n lowest indexes that have not ended, have no active pod and are
// not in waiting. Where pods are only replaced after they have ended, an index with a
// terminating pod is not pending either.
func (v *view) pending(n int, waiting []int) []int {
	busy := append([]int(nil), waiting...)
	for _, p := range v.pods {
		if p.inRange && (p.active || p.terminating && replaceOnlyFailed(&v.spec)) {
			busy = append(busy, p.index)
		}
	}
	return v.succeeded.Union(v.failed).With(busy...).AppendAbsent(nil, n, v.completions())
}

// waitAfter returns how long the next attempt waits after its predecessor; the first
// does not wait.
func (v *view) waitAfter(p *podView) time.Duration {
	if p == nil {
		return 0
	}
	return v.engine.indexWait(p.failures, p.ignored, p.match, v.endOf(p), v.in.Now)
}
