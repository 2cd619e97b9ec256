package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// row is a line of the table.
type row struct {
	name, state string
	restarts    int64
	ago         time.Duration // since the last start; 0: unknown
	next        time.Time     // next start; zero if none is due
	in          time.Duration // time left until next
	exit        string        // of the last run
}

var header = []string{"NAME", "STATE", "RESTARTS", "NEXT", "EXIT"}

// The columns of header.
const (
	columnName = iota
	columnState
	columnRestarts
	columnNext
	columnExit
)

// detail says how much of a row is shown. Each value omits everything the previous
// values omit, and more.
type detail int

const (
	everything  detail = iota
	noTimeOfDay        // of the next start; the time left stays
	noSignal           // the exit code stays
	noAgo              // time since the last start
	noRestarts
	noExit
	noState // only the name and the next start stay
)

// columns returns the columns shown.
func (d detail) columns() []int {
	switch {
	case d >= noState:
		return []int{columnName, columnNext}
	case d >= noExit:
		return []int{columnName, columnState, columnNext}
	case d >= noRestarts:
		return []int{columnName, columnState, columnNext, columnExit}
	}
	return []int{columnName, columnState, columnRestarts, columnNext, columnExit}
}

// headers returns the titles of the columns shown.
func (d detail) headers() []string {
	var titles []string
	for _, column := range d.columns() {
		titles = append(titles, header[column])
	}
	return titles
}

// cells returns the row's cells for the columns shown.
func (r row) cells(d detail) []string {
	restarts := fmt.Sprint(r.restarts)
	if r.restarts > 0 && r.ago > 0 && d < noAgo {
		restarts += fmt.Sprintf(" (%s ago)", terminal.Age(r.ago))
	}
	exit := r.exit
	if d >= noSignal {
		exit, _, _ = strings.Cut(exit, " ")
	}
	all := []string{r.name, r.state, restarts, r.nextStart(d), exit}
	var shown []string
	for _, column := range d.columns() {
		shown = append(shown, all[column])
	}
	return shown
}

// nextStart returns the NEXT column.
func (r row) nextStart(d detail) string {
	switch at := r.next.Local().Format(time.TimeOnly); {
	case r.next.IsZero():
		return "-"
	case r.in <= 0:
		return at
	case d >= noTimeOfDay:
		return "in " + terminal.Wait(r.in)
	default:
		return at + " in " + terminal.Wait(r.in)
	}
}

// same reports whether two rows differ only in elapsed time.
func (r row) same(other row) bool {
	r.ago, r.in, other.ago, other.in = 0, 0, 0, 0
	return r == other
}

// outcome is a state as summed up for a person watching.
type outcome struct {
	rank   int    // lowest first
	word   string // in the summary line
	colour terminal.Colour
}

// outcome returns the outcome of the row's state.
func (r row) outcome() outcome {
	switch r.state {
	case "CrashLoopBackOff":
		return outcome{0, "crashed", terminal.Yellow}
	case "Error", "GivenUp":
		return outcome{0, "failed", terminal.Red}
	case "Running":
		return outcome{1, "running", terminal.Green}
	case "Terminating":
		return outcome{1, "terminating", terminal.Yellow}
	}
	return outcome{2, strings.ToLower(r.state), ""} // Pending, Completed, Stopped
}
