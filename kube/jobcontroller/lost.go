package jobcontroller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
)

// lostCreation is a creation that had no answer. Its pod may be there, may still come,
// or may never come. Its name is kept for the next pod of its kind that a plan wants: of
// two requests under one name only one can create a pod. While no plan wants that pod,
// because the Job was suspended for instance, the Job is unsettled until the pod is
// seen or no longer expected. One thing is not guarded against: that a request is carried
// out after a later one under its name has created the pod, and that pod is gone again.
type lostCreation struct {
	name         string
	generateName string    // of the Job or, with indexes, of the index
	at           time.Time // of the last attempt
}

// lose notes that a creation had no answer.
func (u *unsure) lose(pod *corev1.Pod, now time.Time) {
	u.found(pod.Name)
	u.creations = append(u.creations, lostCreation{pod.Name, pod.GenerateName, now})
}

// found forgets a creation whose outcome is known.
func (u *unsure) found(name string) {
	u.creations = slices.DeleteFunc(u.creations, func(c lostCreation) bool { return c.name == name })
}

// settle forgets the creations whose pods the informer shows, and those that are too
// old. It returns how many were too old. It must be called before the pods that are
// planned on are taken from the informer.
func (u *unsure) settle(job types.UID, shown func(name string) *corev1.Pod, now time.Time) (givenUp int) {
	u.creations = slices.DeleteFunc(u.creations, func(c lostCreation) bool {
		if pod := shown(c.name); pod != nil && controlledBy(pod, job) {
			return true
		}
		if !tooOld(c.at, now) {
			return false
		}
		givenUp++
		return true
	})
	return givenUp
}

// named is a pod to create with the name of a creation that had no answer, or "" for a
// new one.
type named struct {
	jobpolicy.Creation
	name string
}

// nameAll gives wanted pods the names of creations that had no answer. If a plan does
// not want all of these, there may be more pods than it knows of: then only pods that
// have such a name are returned. Those come first.
func (u *unsure) nameAll(wanted []jobpolicy.Creation) []named {
	left := make(map[string][]string, len(u.creations))
	for _, c := range u.creations {
		left[c.generateName] = append(left[c.generateName], c.name)
	}
	var again, others []named
	for _, n := range wanted {
		if names := left[n.GenerateName]; len(names) > 0 {
			again, left[n.GenerateName] = append(again, named{n, names[0]}), names[1:]
		} else {
			others = append(others, named{n, ""})
		}
	}
	if len(again) < len(u.creations) {
		return again
	}
	return append(again, others...)
}
