package criwatch

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
)

// A line is one lifecycle event with its details.
type line struct {
	at        time.Time // when it is reported
	event     pleg.EventType
	pod       string // id of the sandbox
	meta      *podMeta
	container string // id; empty in a PodSync
	name      string // of the container, if known
	attempt   uint32
	happened  time.Time // by the runtime's clock; zero if unknown
	before    bool      // happened before this program began

	// Only in a ContainerDied.
	exit      *pleg.ExitDetails // nil if the runtime did not report the exit's details
	source    pleg.ExitSource   // how the exit was found
	eventTime time.Time         // the timestamp of the runtime's event of the exit; zero without one
	lost      int               // exits dropped before this one because the output was stuck for too long
}

// sandbox reports whether the line is about a pod's sandbox.
func (l line) sandbox() bool { return l.container == l.pod }

// late returns the delay between an event and its report. ok is false if the delay is
// unknown or the event happened before this program began.
func (l line) late() (late time.Duration, ok bool) {
	if l.happened.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.happened), true
}

// lateSinceEvent returns the delay between the runtime's event of an exit and the
// report, which leaves out the runtime's own share. ok is false if the runtime sent no
// event.
func (l line) lateSinceEvent() (late time.Duration, ok bool) {
	if l.exit == nil || l.eventTime.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.eventTime), true
}

// latencies holds the latest delays between exits and their reports. The zero value is
// empty.
type latencies struct {
	last []time.Duration // a ring once full
	next int
	all  int
}

const keptLatencies = 1024

func (l *latencies) add(d time.Duration) {
	l.all++
	if len(l.last) < keptLatencies {
		l.last = append(l.last, d)
		return
	}
	l.last[l.next] = d
	l.next = (l.next + 1) % keptLatencies
}

// copy returns an independent copy of l.
func (l latencies) copy() latencies {
	l.last = slices.Clone(l.last)
	return l
}

// at returns the quantile q of the kept latencies, or 0 if l is empty.
func (l latencies) at(q float64) time.Duration {
	if len(l.last) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.last))
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// String returns the number, the median and the 99th percentile.
func (l latencies) String() string {
	if l.all == 0 {
		return "0"
	}
	return fmt.Sprintf("%d, p50 %.1f ms, p99 %.1f ms", l.all, milliseconds(l.at(.5)), milliseconds(l.at(.99)))
}
