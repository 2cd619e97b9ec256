package jobcontroller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
)

// lostCreation is a creation without an answer. Its pod may exist, may still appear, or
// may never do so. The next creation of the same kind reuses its name, because only one
// of two requests with the same name can create a pod. If no plan wants the pod, as in
// a suspended Job, the Job stays unsettled until the pod appears or is given up. One
// case is not covered. A request may be carried out so late that its name has been used
// by a pod since deleted.
type lostCreation struct {
	name         string
	generateName string    // of the Job or, with indexes, of the index
	at           time.Time // of the last attempt
}

// lose records a creation without an answer.
func (u *unsure) lose(pod *corev1.Pod, now time.Time) {
	u.found(pod.Name)
	u.creations = append(u.creations, lostCreation{pod.Name, pod.GenerateName, now})
}

// found forgets a creation with a known outcome.
func (u *unsure) found(name string) {
	u.creations = slices.DeleteFunc(u.creations, func(c lostCreation) bool { return c.name == name })
}

// settle forgets creations whose pods the informer shows, and those too old. It returns
// the number too old. Call it before reading the pods to plan on.
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

// named is a pod to create. name is that of a creation without an answer, or "" for a
// new one.
type named struct {
	jobpolicy.Creation
	name string
}

// nameAll assigns the names of creations without an answer to wanted pods and returns
// those first. If the plan does not want all of these, more pods than it knows may
// exist, so nameAll returns only pods with such a name.
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
