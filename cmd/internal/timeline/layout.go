package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
)

// Layout returns the chart of a run. It accepts any events, in the order in which they
// were noticed, and counts repeated ones once. It does not retain events.
func Layout(events []Event) *Chart {
	l := &layout{
		chart:      &Chart{Result: "not finished"},
		rows:       make(map[int]*row),
		pods:       make(map[string]*pod),
		conditions: make(map[string]string),
	}
	for i := range events {
		l.event(&events[i])
	}
	l.finish()
	l.arrange()
	return l.chart
}

// layout collects events.
type layout struct {
	chart      *Chart
	rows       map[int]*row // by index or lane
	order      []*row
	conditions map[string]string // last text of each condition
	pods       map[string]*pod

	runs     []shift       // in order of their starts
	last     time.Duration // latest time so far
	ended    bool
	finished bool // the Job has finished
}

// shift subtracts a pause between runs from all later times.
type shift struct {
	from time.Time
	less time.Duration
}

// row is a Row under construction.
type row struct {
	index   int
	bars    []Bar
	waits   []Wait
	pending *Wait // wait in progress, or nil
	current *pod  // pod created last
	pods    int
}

// pod is the state of a pod.
type pod struct {
	row     *row
	name    string
	attempt int
	created time.Duration
	bar     int // index in row.bars; -1 before its first bar
	open    bool
	ended   bool
}

// at returns the place of a time on the axis.
func (l *layout) at(t time.Time) time.Duration {
	d, end := time.Duration(0), time.Duration(math.MaxInt64)
	for i, run := range slices.Backward(l.runs) {
		if i == 0 || !t.Before(run.from) {
			d = max(0, min(l.since(t)-run.less, end))
			break
		}
		end = l.since(run.from) - run.less // a run ends at the start of the next one
	}
	l.last = max(l.last, d)
	return d
}

func (l *layout) since(t time.Time) time.Duration { return t.Sub(l.chart.Begin) }

// text returns foreign text ready to show.
func text(s string) string { return human.Excerpt(s, 200) }

func (l *layout) event(e *Event) {
	if l.runs == nil {
		l.chart.Begin = e.Time
		l.runs = []shift{{from: e.Time}}
	}
	if e.Job != "" {
		l.chart.Job = text(e.Job)
	}
	switch e.Kind {
	case Began:
		l.at(e.Time)
	case Resumed:
		l.resume(e)
	case Condition:
		l.condition(e)
	case Ended:
		l.ended = true
		l.mark(l.at(e.Time), "end", "the run ended"+inBrackets(e.Reason))
	case IndexFailed:
		l.failIndex(e)
	case Created:
		l.podOf(e, l.at(e.Time))
	case Started, Restarted, Succeeded, Failed, Deleted, Terminated:
		l.pod(e)
	}
}

// resume ends the bars left open by the previous run, and removes the pause from the
// axis.
func (l *layout) resume(e *Event) {
	l.cut(l.last)
	run := l.runs[len(l.runs)-1]
	pause := l.since(e.Time) - run.less - l.last
	detail := "another run resumes the Job"
	if pause > 0 {
		l.chart.Paused = add(l.chart.Paused, pause)
		detail += ", " + human.Wait(pause) + " later"
		if !l.ended {
			detail += " than the last event of the run before, which was killed"
			l.chart.Killed = true
		}
	}
	// A negative pause means that the clock was set back. The run still continues at
	// the end of the previous one.
	l.runs = append(l.runs, shift{from: e.Time, less: run.less + pause})
	l.ended = false
	l.mark(l.at(e.Time), "resumed", detail)
}

// cut ends all open bars, since later events of their pods are unknown.
func (l *layout) cut(at time.Duration) {
	for _, p := range l.pods {
		if !p.ended && !p.open && p.bar < 0 {
			p.begin(p.created)
		}
		if p.open {
			b := &p.row.bars[p.bar]
			b.To = max(at, b.From)
			p.open = false
		}
	}
}

func (l *layout) condition(e *Event) {
	label := text(e.Condition)
	if e.Status != "" && e.Status != "True" {
		label += "=" + text(e.Status)
	}
	result := label
	if e.Reason != "" {
		result += " (" + text(e.Reason) + ")"
	}
	detail := result
	if e.Message != "" {
		detail += ": " + text(e.Message)
	}
	at := l.at(e.Time)
	if l.conditions[e.Condition] == detail {
		return // repeated event
	}
	l.conditions[e.Condition] = detail
	switch {
	case (e.Condition == "Complete" || e.Condition == "Failed") && e.Status != "False":
		l.chart.Result, l.finished = result, true
	case e.Condition == "Suspended" && !l.finished:
		l.chart.Result = "not finished"
		if e.Status != "False" {
			l.chart.Result = result
		}
	}
	l.mark(at, label, detail)
}

// maxMarks limits the marks drawn for hostile files.
const maxMarks = 1000

func (l *layout) mark(at time.Duration, label, detail string) {
	if len(l.chart.Marks) < maxMarks {
		l.chart.Marks = append(l.chart.Marks, Mark{at, label, detail})
	}
}

// rowOf returns the row of an index, or a lane for a new pod without an index.
func (l *layout) rowOf(e *Event) *row {
	index := 0
	if e.Index != nil {
		index = *e.Index
		l.chart.Indexed = true
	} else {
		index = l.lane()
	}
	r := l.rows[index]
	if r == nil {
		r = &row{index: index}
		l.rows[index] = r
		l.order = append(l.order, r)
	}
	return r
}

// lane returns a lane for a pod. It prefers the lane that has waited longest after a
// failure, then the first free one.
func (l *layout) lane() int {
	free, waiting := -1, -1
	for _, r := range l.order {
		switch {
		case r.current != nil && !r.current.ended:
		case r.pending != nil && (waiting < 0 || r.pending.From < l.rows[waiting].pending.From):
			waiting = r.index
		case free < 0:
			free = r.index
		}
	}
	switch {
	case waiting >= 0:
		return waiting
	case free >= 0:
		return free
	}
	return len(l.order)
}

// key identifies a pod. A pod that a killed run did not save is created again with the
// same name and a new UID. It is the same attempt.
func key(e *Event) string {
	if e.Pod != "" {
		return e.Pod
	}
	if e.Index != nil {
		return fmt.Sprintf("/%d/%d", *e.Index, e.Attempt)
	}
	return fmt.Sprintf("//%d", e.Attempt)
}

// podOf returns the pod of an event, even if its creation was not recorded.
func (l *layout) podOf(e *Event, at time.Duration) *pod {
	p := l.pods[key(e)]
	if p != nil {
		return p
	}
	r := l.rowOf(e)
	p = &pod{row: r, name: text(e.Pod), attempt: e.Attempt, created: at, bar: -1}
	l.pods[key(e)] = p
	l.chart.Attempts++
	r.endWait(at)
	r.current = p
	r.pods++
	return p
}

// begin begins a bar.
func (p *pod) begin(at time.Duration) {
	p.row.bars = append(p.row.bars, Bar{From: at, To: at, Outcome: OutcomeUnfinished, Pod: p.name, Attempt: p.attempt})
	p.bar, p.open = len(p.row.bars)-1, true
}

func (l *layout) pod(e *Event) {
	at := l.at(e.Time)
	p := l.podOf(e, at)
	switch e.Kind {
	case Started:
		again := p.ended && p.row.bars[p.bar].Outcome == OutcomeTerminated // it was suspended
		if p.open && p.row.bars[p.bar].From != at || !p.open && (!p.ended || again) {
			p.close(at, OutcomeUnfinished, "")
			p.begin(at)
			p.ended = false
		}
	case Restarted:
		l.restart(p, e, at)
	case Deleted:
		if p.open {
			p.row.bars[p.bar].Detail = "deleted" + inBrackets(e.Reason) + " at " + human.Wait(at)
		}
	case Terminated:
		switch {
		case !p.ended:
			l.end(p, e, at, OutcomeTerminated)
		case p.bar >= 0: // the decision came before its end
			b := &p.row.bars[p.bar]
			b.To = max(b.To, at)
		}
	case Succeeded:
		l.end(p, e, at, OutcomeSucceeded)
	case Failed:
		if !p.ended {
			l.fail(p, e, at)
		}
	}
}

// end ends the bar of a pod. If the bar has not begun, end begins it first.
func (l *layout) end(p *pod, e *Event, at time.Duration, o Outcome) {
	if p.ended {
		return // repeated event
	}
	switch {
	case p.open:
	case p.bar >= 0: // it was considered cut off
		p.open = true
	case o == OutcomeTerminated: // its first process never started
		p.begin(at)
	default: // its start was not recorded
		p.begin(p.created)
	}
	p.close(at, o, endText(e))
	p.ended = true
}

// close ends the open bar, if any.
func (p *pod) close(at time.Duration, o Outcome, detail string) {
	if !p.open {
		return
	}
	b := &p.row.bars[p.bar]
	b.To, b.Outcome, p.open = max(at, b.From), o, false
	for i := range b.Restarts {
		b.Restarts[i].To = min(b.Restarts[i].To, b.To)
		b.Restarts[i].From = min(b.Restarts[i].From, b.Restarts[i].To)
	}
	if detail != "" && b.Detail != "" {
		detail = b.Detail + "; " + detail
	}
	if detail != "" {
		b.Detail = detail
	}
}

func (l *layout) fail(p *pod, e *Event, at time.Duration) {
	o := OutcomeFailed
	if e.Counted != nil && !*e.Counted {
		o = OutcomeIgnored
	}
	l.end(p, e, at, o)
	if e.Wait > 0 {
		p.row.pending = &Wait{From: at, To: add(at, time.Duration(e.Wait)), Detail: waits(e)}
	}
}

func (l *layout) restart(p *pod, e *Event, at time.Duration) {
	if !p.open {
		p.begin(p.created)
	}
	b := &p.row.bars[p.bar]
	if len(b.Restarts) > 0 && b.Restarts[len(b.Restarts)-1].From == at {
		return // repeated event, or another container at the same time
	}
	l.chart.Restarts++
	b.Restarts = append(b.Restarts, Wait{From: max(at, b.From), To: max(b.From, add(at, time.Duration(e.Wait))), Detail: endText(e) + "; " + waits(e)})
}

func (l *layout) failIndex(e *Event) {
	at := l.at(e.Time)
	if e.Index == nil || l.rows[*e.Index] == nil {
		return
	}
	r := l.rows[*e.Index]
	r.endWait(at)
	if n := len(r.bars); n > 0 && (r.bars[n-1].Outcome == OutcomeFailed || r.bars[n-1].Outcome == OutcomeIgnored) {
		r.bars[n-1].Outcome = OutcomeLast
	}
}

// endWait ends the pending wait of a row.
func (r *row) endWait(at time.Duration) {
	if r.pending != nil {
		r.pending.To = max(at, r.pending.From)
		r.keepWait()
	}
}

func (r *row) keepWait() {
	if r.pending.To > r.pending.From {
		r.waits = append(r.waits, *r.pending)
	}
	r.pending = nil
}

// finish ends the bars and waits still open after the last event.
func (l *layout) finish() {
	c := l.chart
	if c.Result == "not finished" && !l.ended {
		c.Result += ": the run was cut off, or goes on"
	}
	l.cut(l.last)
	c.Length = max(l.last, 1)
	for _, r := range l.order {
		if r.pending != nil {
			r.pending.To = min(r.pending.To, c.Length)
			r.keepWait()
		}
		slices.SortFunc(r.bars, func(a, b Bar) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Pod, b.Pod))
		})
		c.Waited = c.Waited || len(r.waits) > 0
		for i := range r.bars {
			b := &r.bars[i]
			c.Outcomes[b.Outcome]++
			for j := range b.Restarts {
				b.Restarts[j].To = min(b.Restarts[j].To, b.To)
			}
		}
	}
	c.Indexes = len(l.order)
}

// add returns a+b, or the longest duration on overflow.
func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
