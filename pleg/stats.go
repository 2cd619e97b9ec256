package pleg

import (
	"slices"
	"time"
)

// Stats are a Generator's counters, with the corresponding metrics of KEP-3386 or the
// kubelet.
type Stats struct {
	Relists        uint64    // successful full lists
	RelistErrors   uint64    // failed ones
	RelistError    error     // of the last full list; nil if it succeeded
	RelistDuration Histogram // pleg_relist_duration_seconds
	RelistInterval Histogram // pleg_relist_interval_seconds, from start to start
	LastSeen       time.Time // pleg_last_seen_seconds, the local start of the last successful full list

	Streaming   bool   // the event stream is relied upon
	Connections uint64 // evented_pleg_connection_success_count
	// ConnectionErrors (evented_pleg_connection_error_count) counts ended streams,
	// including unsupported ones.
	ConnectionErrors uint64
	// ConnectionError is the error with which the last stream ended; nil while one is open.
	ConnectionError error
	EventsReceived  uint64 // evented_pleg_notifications_received
	// EventLatency (evented_pleg_connection_latency_seconds) is from RuntimeEvent.At to
	// the arrival. A negative latency counts as 0.
	EventLatency Histogram
	SkewedEvents uint64 // events more than an hour old, which are not in EventLatency

	// MissedEvents (kube_pod_missed_events) counts changes of containers that a full list
	// found while the stream was relied upon, without an event of their pod between the
	// last answer about it and a RelistPeriod after the list.
	MissedEvents uint64
	// UnseenContainers counts containers that events named and no answer has shown, so
	// that they yield no exit. One whose events come late may count again.
	UnseenContainers uint64
	// StaleAnswers counts inspections that showed an earlier state of a container than
	// answers before, and those that the cache refused.
	StaleAnswers uint64
	MergedEvents uint64 // events merged because a loop over Events was behind

	Pods       int // pods in the cache
	Containers int // containers of pods, and expected ones
	// Retained counts everything kept beyond these: other pods, claims of events, removed
	// containers, deletions, pending events and exits.
	Retained int
}

// Histogram counts durations in buckets with the bounds of HistogramBounds.
type Histogram struct {
	Counts [15]uint64 // Counts[i] is above bound i-1 and up to bound i; the last is above all bounds
	Sum    float64    // of all durations, in seconds
}

// HistogramBounds returns the upper bounds of all Counts but the last, in seconds.
func HistogramBounds() [14]float64 {
	return [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// Count returns the number of durations in h.
func (h Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

func (h *Histogram) observe(d time.Duration) {
	bounds := HistogramBounds()
	s := max(d, 0).Seconds()
	i, _ := slices.BinarySearch(bounds[:], s)
	h.Counts[i]++
	h.Sum += s
}
