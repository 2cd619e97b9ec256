package jobpolicy

import (
	"fmt"
	"slices"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// observePods builds a podView for every pod. It skips the later of two pods with the
// same identity and returns an error for a pod without one.
func (v *view) observePods(known known) (pods []*podView, notes notes, err error) {
	var rules *ruleTable // made for the first pod that needs it
	all := make([]podView, 0, len(v.in.Pods))
	for i, pod := range v.in.Pods {
		switch {
		case pod == nil:
			notes.add("a nil pod was left out")
			continue
		case pod.UID == "" && pod.Name == "":
			return nil, nil, field.Errors{{Field: fmt.Sprintf("Pods[%d]", i), Type: field.Required, Detail: "a pod needs a UID or a name"}}
		}
		p := v.podView(pod, known)
		if p.succeeded || p.failed {
			p.finish, p.handled = pod.FinishTime(), known.handled[p.identity()]
		}
		if p.match = noMatch; p.failed && v.spec.PodFailurePolicy != nil {
			if rules == nil {
				rules = newRuleTable(v.spec.PodFailurePolicy)
			}
			p.match = rules.match(pod)
		}
		all = append(all, p)
	}
	pods = make([]*podView, len(all))
	for i := range all {
		pods[i] = &all[i]
	}
	slices.SortFunc(pods, comparePods)
	seen := make(map[string]struct{}, len(pods))
	pods = slices.DeleteFunc(pods, func(p *podView) bool {
		id := p.identity()
		if _, twice := seen[id]; twice {
			notes.add("pod %s was left out: %s occurs twice", p.Name, id)
			return true
		}
		seen[id] = struct{}{}
		return false
	})
	for _, p := range pods {
		if p.misread {
			notes.addMisread(p.Pod)
		}
	}
	return pods, notes, nil
}

// podView derives everything about a pod except how and when it ended.
func (v *view) podView(pod *batch.Pod, known known) podView {
	p := podView{Pod: pod, index: -1, inRange: true, tracked: pod.Tracked()}
	if v.indexed {
		p.readAnnotations()
		p.inRange = p.index >= 0 && p.index < v.completions()
	}
	id := p.identity()
	switch {
	case known.uncountedFailed[id]:
		p.recorded = recordedFailed
	case known.uncountedSucceeded[id]:
		p.recorded = recordedSucceeded
	default:
		p.counted = known.counted[id]
	}
	p.released = known.released[id]
	p.tracked = p.tracked && !p.counted && !p.released
	done, deleting := pod.Finished(), !pod.DeletionTimestamp.IsZero()
	if done && !p.tracked && p.recorded == unrecorded && v.scaledAway(p.index) {
		p.counted = true // or released uncounted, because the Job did not want its index
	}
	p.active = !done && !deleting
	p.terminating = !done && deleting
	phase := pod.Status.Phase
	if done { // the record stands, even if the pod now differs
		switch p.recorded {
		case recordedFailed:
			phase = batch.PodFailed
		case recordedSucceeded:
			phase = batch.PodSucceeded
		}
	}
	p.succeeded = phase == batch.PodSucceeded
	p.failed = phase == batch.PodFailed || p.terminating && !replaceOnlyFailed(&v.spec)
	return p
}

// scaledAway reports whether the index is beyond the Job's completions now or was so in
// the last plan, which released all pods that had ended there.
func (v *view) scaledAway(index int) bool {
	if !v.indexed {
		return false
	}
	n := v.completions()
	if last := v.in.State.Written.Completions; last > 0 {
		n = min(n, last)
	}
	return index >= n
}

// numbers are the annotations of an Indexed Job's pod that hold numbers.
var numbers = [...]string{batch.JobCompletionIndexAnnotation, batch.JobIndexFailureCountAnnotation, batch.JobIndexIgnoredFailureCountAnnotation}

// readAnnotations parses the numbers in the annotations of an Indexed Job's pod.
func (p *podView) readAnnotations() {
	p.index = -1
	for i, to := range [...]*int{&p.index, &p.failures, &p.ignored} {
		if text, ok := p.Annotations[numbers[i]]; ok {
			n, ok := count.Parse(text)
			if p.misread = p.misread || !ok; ok || to == &p.index {
				*to = n
			}
		}
	}
}

// addMisread notes annotations that do not hold a valid number.
func (n *notes) addMisread(pod *batch.Pod) {
	for _, a := range numbers {
		if text, there := pod.Annotations[a]; there {
			if _, ok := count.Parse(text); !ok {
				n.add("pod %s: annotation %s is %q: not a number from 0 to %d", pod.Name, a, text, maxCount)
			}
		}
	}
}
