package jobpolicy

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	failed      bool   // counts as failed; while it terminates only if it may be replaced at once
	stale       bool   // its end was counted and its finalizer taken off; this view of it is old
	misread     bool   // an annotation says something else than it is read as
	kept        bool   // it stays until the replacement exists that follows it
	recorded    record // its end is among the uncounted already

	failures, ignored int // of its index, before it

	matched     bool
	match       Match
	finishKnown bool
	finishTime  time.Time
	text        []byte // its JSON; only made for pods that are alike otherwise
}

// record says in which list of the uncounted a pod is.
type record uint8

const (
	unrecorded record = iota
	recordedSucceeded
	recordedFailed
)

// collect looks at every pod once and puts them in the order of index and UID.
// Of two with the same UID, or without one the same name, the later is left out.
func (p *pass) collect() {
	views := make([]podView, 0, len(p.in.Pods))
	for _, pod := range p.in.Pods {
		if pod == nil {
			p.note("a nil pod was left out")
			continue
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
		if id == "" {
			return false
		}
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
}

// comparePods orders pods by index, UID and name. Pods that are alike in all
// three should not be; they are put in some order that does not depend on the
// input's.
func comparePods(a, b *podView) int {
	if c := cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Name, b.Name)); c != 0 || a.Pod == b.Pod {
		return c
	}
	return bytes.Compare(a.json(), b.json())
}

func (v *podView) json() []byte {
	if v.text == nil {
		v.text, _ = json.Marshal(v.Pod)
	}
	return v.text
}

func (p *pass) view(pod *Pod) podView {
	v := podView{Pod: pod, index: -1, inRange: true, tracked: slices.Contains(pod.Finalizers, JobTrackingFinalizer)}
	if p.indexed {
		v.readAnnotations()
		v.inRange = v.index >= 0 && v.index < p.completions()
	}
	switch {
	case p.uncounted.failed[pod.UID]:
		v.recorded = recordedFailed
	case p.uncounted.succeeded[pod.UID]:
		v.recorded = recordedSucceeded
	}
	if v.recorded == unrecorded && p.released[v.identity()] {
		v.tracked, v.stale = false, true
	}
	done, deleting := pod.finished(), !pod.DeletionTimestamp.IsZero()
	v.active = !done && !deleting
	v.terminating = !done && deleting
	v.failed = pod.Status.Phase == PodFailed || v.terminating && !p.spec.replaceOnlyFailed()
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
		v.finishTime, v.finishKnown = FinishTime(v.Pod), true
	}
	return v.finishTime
}

func (v *podView) newlySucceeded() bool {
	return v.tracked && v.inRange && v.Status.Phase == PodSucceeded && v.recorded != recordedSucceeded
}

func (v *podView) newlyFailed() bool {
	return v.tracked && v.inRange && v.failed && v.recorded != recordedFailed
}

func (v *podView) ref() PodRef { return PodRef{Name: v.Name, UID: v.UID} }

// identity tells the pod from others of the Job: its UID, or its name where
// whoever made it gives none.
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
	return s.PodReplacementPolicy == Failed || s.PodFailurePolicy != nil
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
