package pleg

import (
	"slices"
	"time"
)

// Stats are a Generator's counters, with the corresponding metrics of KEP-3386 or the
// kubelet.
type Stats struct {
	Relists        uint64    // successful full relists
	RelistDuration Histogram // pleg_relist_duration_seconds
	RelistInterval Histogram // pleg_relist_interval_seconds, from start to start
	LastSeen       time.Time // pleg_last_seen_seconds, the local start of the last successful full relist

	Streaming   bool   // the event stream is relied upon
	Connections uint64 // evented_pleg_connection_success_count
	// ConnectionErrors (evented_pleg_connection_error_count) counts ended streams,
	// including unsupported ones.
	ConnectionErrors uint64
	EventsReceived   uint64    // evented_pleg_notifications_received
	EventLatency     Histogram // evented_pleg_connection_latency_seconds, from believed timestamps

	Transitions    uint64 // steps found by relists while a stream should have reported them
	ReportedEvents uint64 // Transitions reported by an event
	// MissedEvents (kube_pod_missed_events) is the rest of Transitions. Steps found by
	// a relist of a single pod, or before the stream is relied upon, count after the
	// next full relist.
	MissedEvents uint64

	StaleWrites   uint64 // observations older than the entry
	SkewedWrites  uint64 // observations too far ahead of the clock
	Resurrections uint64 // observations that would have brought back a container or pod
	MergedEvents  uint64 // events merged because a reader or the Generator was behind

	Pods       int // pods present in their last observation
	Containers int // containers of these pods
	// Retained counts other pods, containers and deletions, kept for slow readers and
	// against late events.
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
