package pleg

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/field"
)

// ExitPosition is where an ExitReader is, to and from JSON if K is. Its size is in
// proportion to the pods and containers that are listed, and to the exits that the reader
// has not taken; it forgets the others. Instead of making one, take it from
// ExitReader.Position; the zero value is that of a reader that knows of no container.
type ExitPosition[K comparable] struct {
	Due  []Exit[K]        `json:"due,omitempty"`  // not taken yet, in order
	Lost int              `json:"lost,omitempty"` // dropped before these
	Pods []podPosition[K] `json:"pods,omitempty"` // each once
	// EvictedBefore is the time up to which containers ended that are not in Pods: older news may be
	// about one of these. Zero: there are none.
	EvictedBefore time.Time `json:"horizon,omitzero"`
}

// A podPosition is the part of a position that is about one pod.
type podPosition[K comparable] struct {
	Pod   K        `json:"pod"`
	Live  []string `json:"live,omitempty"`  // containers that have not ended, as far as is known
	Ended []string `json:"ended,omitempty"` // containers whose end is due or was taken, and that may still be listed
}

// mostInPosition is how many containers and exits a position may hold.
const mostInPosition = 1 << 20

// Validate returns nil, or a field.Errors: for a pod or a container that stands
// in p twice, for a source that is none, for a negative number, and for more than
// 1048576 exits and containers.
func (p ExitPosition[K]) Validate() error {
	var errs field.Errors
	size := len(p.Due)
	if p.Lost < 0 {
		errs.Add(field.Invalid, "lost", p.Lost, "must be >= 0")
	}
	for i, e := range p.Due {
		path := fmt.Sprintf("due[%d]", i)
		if !slices.Contains([]ExitSource{ExitSeenByEvent, ExitSeenByRelist, ExitInferred}, e.Source) {
			errs.Add(field.NotSupported, path+".source", string(e.Source), "must be event, relist or inferred")
		}
		if e.Lost < 0 {
			errs.Add(field.Invalid, path+".lost", e.Lost, "must be >= 0")
		}
	}
	pods := map[K]bool{}
	for i, pod := range p.Pods {
		path := fmt.Sprintf("pods[%d]", i)
		if pods[pod.Pod] {
			errs.Add(field.Duplicate, path+".pod", pod.Pod, "")
		}
		pods[pod.Pod] = true
		seen := map[string]bool{}
		for _, list := range []struct {
			name string
			ids  []string
		}{{"live", pod.Live}, {"ended", pod.Ended}} {
			size += len(list.ids)
			for j, id := range list.ids {
				if seen[id] {
					errs.Add(field.Duplicate, fmt.Sprintf("%s.%s[%d]", path, list.name, j), id, "")
				}
				seen[id] = true
			}
		}
	}
	if size > mostInPosition {
		errs.Add(field.TooMany, "pods", size, fmt.Sprintf("must have at most %d exits and containers", mostInPosition))
	}
	return errs.Err()
}
