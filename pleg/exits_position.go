package pleg

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/field"
)

// ExitPosition is the Position of an ExitReader. It encodes to JSON if K does. Its size
// is proportional to the listed pods and containers and the pending exits.
type ExitPosition[K comparable] struct {
	Due  []Exit[K]        `json:"due,omitempty"`  // pending, in order
	Lost int              `json:"lost,omitempty"` // dropped before Due
	Pods []podPosition[K] `json:"pods,omitempty"` // each pod once
	// EvictedBefore is the latest end of a forgotten container, or zero. Older events
	// may be about one.
	EvictedBefore time.Time `json:"horizon,omitzero"`
}

// A podPosition is the part of a position for one pod.
type podPosition[K comparable] struct {
	Pod   K        `json:"pod"`
	Live  []string `json:"live,omitempty"`  // containers not known to have ended
	Ended []string `json:"ended,omitempty"` // containers whose exit is pending or was read, and that may still be listed

	Names map[string]containerName `json:"names,omitempty"` // of those in Live, if known
}

// mostInPosition is the greatest number of containers and exits in a position.
const mostInPosition = 1 << 20

// Validate returns nil, or a field.Errors if p repeats a pod or a container, or has an
// undefined source, a negative number, or more than 1048576 exits and containers.
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
