package jobpolicy

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// observePods looks at every pod once. Of two with the same identity it leaves
// out the later; it refuses a pod without any.
func (v *view) observePods(known known) (pods []*podView, notes notes, err error) {
	var rules *ruleTable // made for the first pod that needs it
	all := make([]podView, 0, len(v.in.Pods))
	for i, pod := range v.in.Pods {
		switch {
		case pod == nil:
			notes.add("a nil pod was left out")
			continue
		case pod.UID == "" && pod.Name == "":
			return nil, nil, field.Errors{{Field: fmt.Sprintf("Pods[%d]", i), Type: field.Required, Detail: "a pod needs a UID or a name: nothing else tells it from others"}}
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

// podView works out what there is to know of a pod, but for how and when it ended.
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
	if done { // what is recorded stands, whatever the pod says now
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

// scaledAway reports whether the index is beyond the Job's completions, or was in the
// last plan. That plan released whatever had ended there.
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

// numbers are the annotations in which an Indexed Job's pod carries numbers.
var numbers = [...]string{batch.JobCompletionIndexAnnotation, batch.JobIndexFailureCountAnnotation, batch.JobIndexIgnoredFailureCountAnnotation}

// readAnnotations reads what an Indexed Job's pod says of itself.
func (p *podView) readAnnotations() {
	p.index = -1
	for i, to := range [...]*int{&p.index, &p.failures, &p.ignored} {
		if text, ok := p.Annotations[numbers[i]]; ok {
			n, ok := readNumber(text)
			if p.misread = p.misread || !ok; ok || to == &p.index {
				*to = n
			}
		}
	}
}

// addMisread notes the annotations that do not hold the number that they are read as.
func (n *notes) addMisread(pod *batch.Pod) {
	for _, a := range numbers {
		if text, there := pod.Annotations[a]; there {
			if _, ok := readNumber(text); !ok {
				n.add("pod %s: annotation %s is %q: not a number from 0 to %d", pod.Name, a, text, maxCount)
			}
		}
	}
}

// readNumber reads an index or a count of an annotation. If it is none from 0 to
// maxCount, n is -1 or, above that, maxCount, which is out of every range alike.
func readNumber(text string) (n int, ok bool) {
	read, err := strconv.ParseInt(text, 10, 64)
	if err != nil || read < 0 {
		return -1, false
	}
	return int(min(read, maxCount)), read <= maxCount
}
