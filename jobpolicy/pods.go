package jobpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// podView is a pod with what a pass needs to know of it, each worked out once.
type podView struct {
	*Pod
	index       int    // completion index; -1: none, or the Job is NonIndexed
	inRange     bool   // its end can count: NonIndexed, or the index is one of the Job's
	tracked     bool   // it has the tracking finalizer: its end has not been counted for good
	active      bool   // neither finished nor being deleted
	terminating bool   // not finished, being deleted
	succeeded   bool   // counts as succeeded
	failed      bool   // counts as failed; while it terminates only if it may be replaced at once
	stale       bool   // its end was counted and its finalizer taken off; this view of it is old
	untracked   bool   // its end counts nothing because it never had the finalizer
	misread     bool   // an annotation says something else than it is read as
	kept        bool   // it stays until the replacement exists that follows it
	recorded    record // its end is among the uncounted already

	failures, ignored int // of its index, before it

	matched     bool
	match       Match
	finishKnown bool
	finishTime  time.Time
	rank        *rank  // only worked out for pods that may be surplus
	text        []byte // only made for pods that are alike otherwise
}

// record says in which list of the uncounted a pod is.
type record uint8

const (
	unrecorded record = iota
	recordedSucceeded
	recordedFailed
)

// collect looks at every pod once and puts them in the order of index and UID.
// Of two with the same identity the later is left out; a pod without any is
// refused.
func (p *pass) collect() error {
	views := make([]podView, 0, len(p.in.Pods))
	for i, pod := range p.in.Pods {
		switch {
		case pod == nil:
			p.note("a nil pod was left out")
			continue
		case pod.UID == "" && pod.Name == "":
			return fmt.Errorf("jobpolicy: Plan(Pods[%d]): a pod needs a UID or a name: nothing else tells it from others", i)
		}
		views = append(views, p.view(pod))
	}
	p.pods = make([]*podView, len(views))
	for i := range views {
		p.pods[i] = &views[i]
	}
	slices.SortFunc(p.pods, comparePods)
	seen := make(map[string]struct{}, len(p.pods))
	p.pods = slices.DeleteFunc(p.pods, func(v *podView) bool {
		id := v.identity()
		if _, twice := seen[id]; twice {
			p.note("pod %s was left out: %s occurs twice", v.Name, id)
			return true
		}
		seen[id] = struct{}{}
		return false
	})
	for _, v := range p.pods {
		if v.stale {
			p.memory.Released = append(p.memory.Released, v.identity())
		}
		if v.misread {
			p.noteAnnotations(v.Pod)
		}
	}
	return nil
}

func (p *pass) view(pod *Pod) podView {
	v := podView{Pod: pod, index: -1, inRange: true, tracked: pod.tracked()}
	if p.indexed {
		v.readAnnotations()
		v.inRange = v.index >= 0 && v.index < p.completions()
	}
	id := v.identity()
	switch {
	case p.uncounted.failed[id]:
		v.recorded = recordedFailed
	case p.uncounted.succeeded[id]:
		v.recorded = recordedSucceeded
	}
	if v.recorded == unrecorded && p.released[id] {
		v.tracked, v.stale = false, true
	}
	if p.reported[id] {
		v.tracked = false
	}
	done, deleting := pod.finished(), !pod.DeletionTimestamp.IsZero()
	v.active = !done && !deleting
	v.terminating = !done && deleting
	phase := pod.Status.Phase
	if done { // what is recorded stands, whatever the pod says now
		switch v.recorded {
		case recordedFailed:
			phase = PodFailed
		case recordedSucceeded:
			phase = PodSucceeded
		}
	}
	v.succeeded = phase == PodSucceeded
	v.failed = phase == PodFailed || v.terminating && !p.spec.replaceOnlyFailed()
	return v
}

// readAnnotations reads what an Indexed Job's pod says of itself.
func (v *podView) readAnnotations() {
	read := func(annotation string) int {
		text, ok := v.Annotations[annotation]
		if !ok {
			return 0
		}
		n, ok := readCount(text)
		if !ok {
			v.misread = true
			return 0
		}
		return n
	}
	v.index = -1
	if text, ok := v.Annotations[JobCompletionIndexAnnotation]; ok {
		v.index = readIndex(text)
		_, fine := readCount(text)
		v.misread = !fine
	}
	v.failures = read(JobIndexFailureCountAnnotation)
	v.ignored = read(JobIndexIgnoredFailureCountAnnotation)
}

// noteAnnotations notes annotations that say something else than they are read as.
func (p *pass) noteAnnotations(pod *Pod) {
	for _, a := range [...]string{JobCompletionIndexAnnotation, JobIndexFailureCountAnnotation, JobIndexIgnoredFailureCountAnnotation} {
		if text, ok := pod.Annotations[a]; ok {
			if _, ok := readCount(text); !ok {
				p.note("pod %s: annotation %s is %q: not a number from 0 to %d", pod.Name, a, text, maxCount)
			}
		}
	}
}

// match is what the policy says of the pod.
func (p *pass) match(v *podView) Match {
	policy := p.spec.PodFailurePolicy
	if policy == nil {
		return noMatch
	}
	if !v.matched {
		if p.rules == nil {
			p.rules = newRuleTable(policy)
		}
		v.match, v.matched = p.rules.match(v.Pod), true
	}
	return v.match
}

func (v *podView) finish() time.Time {
	if !v.finishKnown {
		v.finishTime, v.finishKnown = v.FinishTime(), true
	}
	return v.finishTime
}

func (v *podView) newlySucceeded() bool {
	return v.tracked && v.inRange && v.succeeded && v.recorded == unrecorded
}

func (v *podView) newlyFailed() bool {
	return v.tracked && v.inRange && v.failed && v.recorded == unrecorded
}

func (v *podView) ref() PodRef { return PodRef{Name: v.Name, UID: v.UID} }

// identity tells the pod from others of the Job, in the status and the memory
// too: its UID, or its name where whoever made it gives none.
func (v *podView) identity() string {
	if v.UID == "" {
		return v.Name
	}
	return v.UID
}

// finished reports whether the pod has reached its end.
func (p *Pod) finished() bool {
	return p.Status.Phase == PodSucceeded || p.Status.Phase == PodFailed
}

// replaceOnlyFailed reports whether a pod that is being deleted is replaced only
// once it has ended. With a failure policy it must be: the policy judges ends.
func (s *JobSpec) replaceOnlyFailed() bool {
	return s.PodReplacementPolicy == PodReplacementFailed || s.PodFailurePolicy != nil
}

// readIndex reads an index; -1 is none, and all above 2^31-1 are out of every
// range alike.
func readIndex(text string) int {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return int(min(n, maxCount))
}

// readCount reads an index or a count as it stands in an annotation.
func readCount(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= maxCount
}
