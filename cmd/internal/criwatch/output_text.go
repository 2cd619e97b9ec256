package criwatch

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/pleg"
)

// textWriter writes one aligned line per event, for people.
type textWriter struct {
	out    io.Writer
	style  screen.Style
	widths []int // of the columns but the last; a wider cell widens its column for later lines
}

const clockFormat = "15:04:05.000"

func (w *textWriter) line(l line) error {
	cells := []string{l.at.Format(clockFormat), string(l.event), podName(l), containerName(l), detail(l)}
	text := ""
	for i, cell := range cells {
		cell = human.Escape(cell) // names of the runtime may hold any characters
		text += cell
		if i < len(w.widths) {
			width := screen.Width(cell)
			w.widths[i] = max(w.widths[i], width)
			text += strings.Repeat(" ", w.widths[i]-width+2)
		}
	}
	text = strings.TrimRight(text, " ")
	if l.event == pleg.ContainerDied && !l.sandbox() {
		colour := screen.Red
		if l.exit != nil && l.exit.Code == 0 {
			colour = screen.Green
		}
		text = w.style.Paint(colour, text)
	}
	_, err := fmt.Fprintln(w.out, text)
	return err
}

// podName returns NAMESPACE/NAME, or the beginning of the sandbox's id.
func podName(l line) string {
	if l.meta == nil {
		return short(l.pod)
	}
	return l.meta.Namespace + "/" + l.meta.Name
}

// containerName returns NAME/ATTEMPT, "sandbox", or the beginning of the id.
func containerName(l line) string {
	switch {
	case l.container == "":
		return ""
	case l.sandbox():
		return "sandbox"
	case l.name == "":
		return short(l.container)
	}
	return fmt.Sprintf("%s/%d", l.name, l.attempt)
}

func short(id string) string { return id[:min(len(id), 13)] }

// detail describes the exit of a container, its time and the delay of its report.
func detail(l line) string {
	var parts []string
	if l.event == pleg.ContainerDied && !l.sandbox() {
		switch {
		case l.exit == nil:
			parts = append(parts, "exit code not known")
		case l.exit.Reason == "" || l.exit.Reason == "Completed":
			parts = append(parts, fmt.Sprintf("exit %d", l.exit.Code))
		default:
			parts = append(parts, fmt.Sprintf("exit %d %s", l.exit.Code, l.exit.Reason))
		}
	}
	if !l.happened.IsZero() {
		format := clockFormat
		if l.before {
			format = time.DateTime
		}
		parts = append(parts, "at "+l.happened.Format(format))
	}
	if late, ok := l.late(); ok {
		text := fmt.Sprintf("%.1f ms ago", milliseconds(late))
		if since, ok := l.lateSinceEvent(); ok {
			text += fmt.Sprintf(", its event %.1f ms", milliseconds(since))
		}
		parts = append(parts, "("+text+")")
	}
	if l.lost > 0 {
		parts = append(parts, fmt.Sprintf("(%d exits before it are lost)", l.lost))
	}
	return strings.Join(parts, " ")
}

// stats writes the counters, under the names of the KEP's and the kubelet's metrics
// where those exist.
func (w *textWriter) stats(c counters) error {
	var rows strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&rows, "    %-39s  %v\n", name, value) }
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
	row("events older than an hour", s.SkewedEvents)
	row("containers never seen", s.UnseenContainers)
	row("stale answers", s.StaleAnswers)
	row("events merged", s.MergedEvents)
	row("exit to printed line", c.late)
	row("exit's event to printed line", c.since)
	_, err := fmt.Fprintf(w.out, "%s  %s\n%s", c.at.Format(clockFormat), human.Escape(mode(c)), &rows)
	return err
}

// bound returns the upper bound, in seconds, of the bucket of quantile q.
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

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// mode describes how changes are found.
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
