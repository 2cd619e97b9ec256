package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/examples/internal/terminal"
	"github.com/restartkit/restart/pleg"
)

// counters are the numbers of one moment.
type counters struct {
	at      time.Time
	ended   bool // of the program
	stats   pleg.Stats
	healthy error
	late    latencies // from exit to printed event
	since   latencies // from the runtime's event of an exit to that
}

// latencies keeps how late the last exits were told. The zero value is empty.
type latencies struct {
	last []time.Duration // a ring once it is full
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

// copy returns latencies that do not change.
func (l latencies) copy() latencies {
	l.last = slices.Clone(l.last)
	return l
}

// at returns the quantile q of the latencies that are kept, 0 if there is none.
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

// bound returns the upper bound, in seconds, of the bucket that has quantile q.
func bound(h pleg.Histogram, q float64) string {
	rank := uint64(math.Ceil(q * float64(h.Count())))
	var seen uint64
	bounds := pleg.HistogramBounds()
	for i, n := range h.Counts {
		if seen += n; seen >= rank {
			if i < len(bounds) {
				return fmt.Sprintf("≤ %g s", bounds[i])
			}
			break
		}
	}
	return fmt.Sprintf("> %g s", bounds[len(bounds)-1])
}

// stats writes the counters under the names of the KEP's and the kubelet's
// metrics where they have one.
func (w *textWriter) stats(c counters) error {
	var rows [][]string
	row := func(name string, value any) { rows = append(rows, []string{"    " + name, fmt.Sprint(value)}) }
	histogram := func(name string, h pleg.Histogram) {
		if n := h.Count(); n > 0 {
			row(name, fmt.Sprintf("%d, mean %.4f s, p50 %s, p99 %s", n, h.Sum/float64(n), bound(h, .5), bound(h, .99)))
		} else {
			row(name, 0)
		}
	}
	s := c.stats
	row("evented_pleg_connection_success_count", s.Connections)
	row("evented_pleg_connection_error_count", s.ConnectionErrors)
	histogram("evented_pleg_connection_latency_seconds", s.EventLatency)
	row("evented_pleg_notifications_received", s.EventsReceived)
	row("kube_pod_missed_events", s.MissedEvents)
	histogram("pleg_relist_duration_seconds", s.RelistDuration)
	histogram("pleg_relist_interval_seconds", s.RelistInterval)
	row("stale writes refused", s.StaleWrites)
	row("skewed writes refused", s.SkewedWrites)
	row("resurrections refused", s.Resurrections)
	row("events merged", s.MergedEvents)
	row("exit to printed line", c.late)
	row("exit's event to printed line", c.since)
	text := fmt.Sprintf("%s  %s\n%s\n", c.at.Format(clockFormat), terminal.Escape(mode(c)), strings.Join(terminal.Align(rows, 2), "\n"))
	_, err := io.WriteString(w.out, text)
	return err
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// mode says in words how changes are found.
func mode(c counters) string {
	words := "polling"
	switch {
	case c.ended:
		words = "at the end"
	case c.stats.Streaming:
		words = "streaming"
	}
	if c.healthy != nil {
		words += ", unhealthy: " + c.healthy.Error()
	}
	return words
}

// jsonStats are the counters in JSON, those of pleg.Stats under their own names.
type jsonStats struct {
	Time      time.Time   `json:"time"`
	Type      string      `json:"type"` // Stats
	Unhealthy string      `json:"unhealthy,omitempty"`
	Stats     pleg.Stats  `json:"stats"`
	Exits     jsonLatency `json:"exitLatency"`    // from exit to printed line
	Since     jsonLatency `json:"exitSinceEvent"` // from the runtime's event of an exit to that
}

// jsonLatency are latencies in seconds.
type jsonLatency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
}

func (l latencies) json() jsonLatency {
	return jsonLatency{l.all, l.at(.5).Seconds(), l.at(.99).Seconds()}
}

func (w jsonWriter) stats(c counters) error {
	j := jsonStats{Time: c.at, Type: "Stats", Stats: c.stats, Exits: c.late.json(), Since: c.since.json()}
	if c.healthy != nil {
		j.Unhealthy = c.healthy.Error()
	}
	return w.write(j)
}
