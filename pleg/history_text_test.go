package pleg_test

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// String returns the history as one line per thing that happened, in order of
// time.
func (h history) String() string {
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	add := func(at time.Time, format string, args ...any) {
		if !at.IsZero() {
			lines = append(lines, line{at, fmt.Sprintf(format, args...)})
		}
	}
	for _, c := range h.Changes {
		add(c.At, "truth      pod %v is %v (container %s, event %d)", c.Pod, c.Status, c.Container, c.Type)
	}
	for _, c := range h.Calls {
		add(c.Start, "call       %s(%v) begins", c.Kind, c.Pod)
		add(c.End, "call       %s(%v) of %s ends: %v", c.Kind, c.Pod, c.Start.Format(clockFormat), c.Err)
	}
	for _, t := range h.Connections {
		add(t, "stream     opened")
	}
	for _, d := range h.Deliveries {
		seen := "nothing"
		if d.Event.Seen != nil {
			seen = d.Event.Seen.Status.String()
		}
		add(d.At, "event      pod %v container %s event %d stamped %s shows %s", d.Event.Pod, d.Event.Container, d.Event.Type, d.Event.At.Format(clockFormat), seen)
	}
	for _, t := range h.Trouble {
		add(t, "trouble")
	}
	for _, v := range h.Views {
		add(v.At, "%-10s pod %v: %s", v.Reader, v.Pod, entryText(v.Entry))
	}
	for _, t := range h.Events {
		add(t.At, "%-10s %v %v %s", t.Reader, t.Event.Pod, t.Event.Type, t.Event.Container)
	}
	for _, r := range h.ExitsRead {
		add(r.At, "%-10s %v exited %s: %s, %v", r.Reader, r.Exit.Pod, r.Exit.Container, r.Exit.Source, r.Exit.Details)
	}
	for name, r := range h.ExitReaders {
		add(r.Begin, "%-10s begins, earlier %v", name, r.Earlier)
		for _, g := range r.Gaps {
			add(g.From, "%-10s saves its position", name)
			add(g.To, "%-10s begins again from %s", name, g.From.Format(clockFormat))
		}
	}
	for _, w := range h.Waits {
		add(w.Start, "wait       pod %v newer than %s", w.Pod, w.Min.Format(clockFormat))
		add(w.End, "wait       pod %v newer than %s: %s, %v", w.Pod, w.Min.Format(clockFormat), entryText(w.Entry), w.Err)
	}
	for _, f := range h.Finals {
		add(f.At, "compared   for G%d", f.Guarantee)
	}
	add(h.RunEnded, "Run has ended")
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s\n", l.at.Format(clockFormat), l.text)
	}
	return b.String()
}

const clockFormat = "15:04:05.000000000"

func entryText(e entry) string {
	switch {
	case e.Present && e.Err != nil:
		return fmt.Sprintf("%v (%v) as of %s", e.Status, e.Err, e.Modified.Format(clockFormat))
	case e.Present:
		return fmt.Sprintf("%v as of %s", e.Status, e.Modified.Format(clockFormat))
	case e.Modified.IsZero():
		return "nothing known"
	}
	return "absent as of " + e.Modified.Format(clockFormat)
}
