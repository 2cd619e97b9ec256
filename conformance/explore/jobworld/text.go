package jobworld

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// text returns the text of a step.
func (s *state) text(st step, pass *Pass) string {
	who := ""
	if st.slot >= 0 {
		who = s.nameOf(st.slot)
	}
	switch st.kind {
	case podStarts:
		return who + " starts"
	case podSucceeds:
		return who + " succeeds"
	case podFails:
		if s.pods[st.slot].now.is(deleting) {
			return who + " fails with 143"
		}
		return who + " fails with 1"
	case podFails9:
		return who + " fails with 9"
	case podEvicted:
		return who + " is evicted"
	case podDeleted:
		return who + " is deleted"
	case podVanishes:
		return who + " vanishes"
	case jobSuspended:
		return "the Job is suspended"
	case jobResumed:
		return "the Job is resumed"
	case jobShown:
		return "the watch shows the Job"
	case podsShown:
		return "the watch shows the pods"
	case podsShownButLast:
		return "the watch shows the pods, but not " + who
	case requestDone:
		return "the controller " + s.requestText(pass.Request)
	case requestRefused:
		return "the controller " + s.requestText(pass.Request) + ": refused"
	case requestConflicts:
		return "the controller " + s.requestText(pass.Request) + ": conflict"
	case requestLost:
		return "the controller " + s.requestText(pass.Request) + ": no answer"
	case passEnds:
		return "the controller remembers the pass"
	case timePasses:
		return fmt.Sprintf("%v pass", pass.Requeue)
	case crashes:
		return "the controller crashes"
	case crashesBehind:
		return "the controller crashes before it keeps its State"
	case crashesBare:
		return "the controller crashes and loses its State"
	}
	return "another controller takes over"
}

func (s *state) nameOf(slot int) string {
	p := &s.pods[slot]
	if p.index < 0 {
		return fmt.Sprintf("pod %d", p.name)
	}
	return fmt.Sprintf("pod %d of index %d", p.name, p.index)
}

func (s *state) requestText(r *Request) string {
	switch r.Kind {
	case CreatePod:
		if r.Pod >= 0 && s.pods[r.Pod].now != absent {
			return fmt.Sprintf("creates %s again", s.nameOf(r.Pod))
		}
		text := "creates a pod"
		if r.Index >= 0 {
			text += fmt.Sprintf(" of index %d", r.Index)
		}
		if r.Failures > 0 {
			text += fmt.Sprintf(" after %d failures", r.Failures)
		}
		if r.Ignored > 0 {
			text += fmt.Sprintf(" and %d ignored", r.Ignored)
		}
		return text
	case DeletePod:
		return "deletes " + s.nameOf(r.Pod)
	case RemoveFinalizer:
		return "removes the finalizer of " + s.nameOf(r.Pod)
	}
	return "writes " + s.statusText(r.Status)
}

// statusText returns the nonzero parts of a status.
func (s *state) statusText(st *batch.JobStatus) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	number := func(name string, n int32) {
		if n != 0 {
			add("%s %d", name, n)
		}
	}
	number("active", st.Active)
	if st.Ready != nil {
		number("ready", *st.Ready)
	}
	if st.Terminating != nil {
		number("terminating", *st.Terminating)
	}
	number("succeeded", st.Succeeded)
	number("failed", st.Failed)
	if st.CompletedIndexes != "" {
		add("completed indexes %s", st.CompletedIndexes)
	}
	if st.FailedIndexes != nil && *st.FailedIndexes != "" {
		add("failed indexes %s", *st.FailedIndexes)
	}
	if u := st.UncountedTerminatedPods; u != nil {
		for i, uids := range [][]string{u.Succeeded, u.Failed} {
			if len(uids) == 0 {
				continue
			}
			var names []string
			for _, uid := range uids {
				names = append(names, fmt.Sprint(s.pods[Slot(uid)].name))
			}
			slices.Sort(names)
			add("uncounted %s %s", [...]string{"succeeded", "failed"}[i], strings.Join(names, ","))
		}
	}
	for _, c := range st.Conditions {
		add("%s=%s for %s", c.Type, c.Status, c.Reason)
	}
	if len(parts) == 0 {
		return "an empty status"
	}
	return strings.Join(parts, ", ")
}
