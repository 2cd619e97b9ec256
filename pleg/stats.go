package pleg

import (
	"slices"
	"time"
)

// Stats counts what a Generator did since it was made. The comments name the
// metric of KEP-3386 or of the kubelet that a field stands for. It is a plain
// value; the zero value counts nothing.
type Stats struct {
	Relists        uint64    // full relists that ended well
	RelistDuration Histogram // pleg_relist_duration_seconds
	RelistInterval Histogram // pleg_relist_interval_seconds, from start to start
	LastSeen       time.Time // pleg_last_seen_seconds: local start of the last relist

	Streaming   bool   // the event stream is up, and EventedPeriod in force
	Connections uint64 // evented_pleg_connection_success_count
	// ConnectionErrors (evented_pleg_connection_error_count) is how many streams ended,
	// unsupported ones included.
	ConnectionErrors uint64
	EventsReceived   uint64    // evented_pleg_notifications_received
	EventLatency     Histogram // evented_pleg_connection_latency_seconds, by stamps that are believed

	Transitions    uint64 // steps of containers that relists found while a stream should have reported them
	ReportedEvents uint64 // of these, reported by an event
	// MissedEvents (kube_pod_missed_events) is how many of these no event reported. A step
	// that a single pod's relist found, or one before the stream is relied upon, counts only
	// after the next full relist.
	MissedEvents uint64

	StaleWrites   uint64 // observations that lost against newer knowledge
	SkewedWrites  uint64 // refused for a time ahead of the clock
	Resurrections uint64 // refused because they would have brought back what is gone
	MergedEvents  uint64 // events that became part of another, as a reader or the Generator was behind

	Pods       int // pods that are there, as last seen
	Containers int // their containers
	// Retained is how many pods, containers and deletions are remembered besides: for slow
	// readers, and against late events.
	Retained int
}

// Histogram counts durations by the bounds that HistogramBounds returns. It is a plain
// value; the zero value counts nothing.
type Histogram struct {
	Counts [15]uint64 // Counts[i]: above bound i-1, up to bound i; the last one: above all
	Sum    float64    // of all durations, in seconds
}

// HistogramBounds returns the upper bounds of a Histogram's Counts but the last, in
// seconds.
func HistogramBounds() [14]float64 {
	return [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// Count returns how many durations h has counted.
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
