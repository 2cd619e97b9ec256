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
	next        time.Time     // start; zero: none is to come
	in          time.Duration // until then
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

// detail is how much of a row is shown. Each value leaves out what the ones before
// it leave out, too.
type detail int

const (
	everything  detail = iota
	noTimeOfDay        // of the next start; how long until then is enough
	noSignal           // beside its exit code
	noAgo              // of the last start
	noRestarts
	noExit
	noState // the name and the next start are left
)

// columns returns which columns are shown.
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

// headers returns the titles of the columns that are shown.
func (d detail) headers() []string {
	var titles []string
	for _, column := range d.columns() {
		titles = append(titles, header[column])
	}
	return titles
}

// cells returns the cells of the columns that are shown.
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

// outcome is what a state means for a person who watches.
type outcome struct {
	rank   int    // the lowest is shown first
	word   string // in the line that counts them
	colour terminal.Colour
}

// outcome returns what the row's state means.
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
