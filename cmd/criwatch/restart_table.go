package main

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// A row is a line of the table of -restart.
type row struct {
	key       key
	container string // id of the last attempt
	state     string
	restarts  uint32        // number of the last attempt
	ago       time.Duration // since its start; 0 if unknown
	next      time.Time     // next start; zero for none
	in        time.Duration // until next
	failures  int           // in a row, if next is set
	exit      string        // the last one, in words

	code     *int32 // of the last exit, or nil
	reason   string
	finished time.Time
}

// same reports whether two rows differ only in elapsed time.
func (r row) same(other row) bool {
	return r.key == other.key && r.container == other.container && r.state == other.state && r.restarts == other.restarts &&
		r.next.Equal(other.next) && r.exit == other.exit
}

// cells returns the columns of a row.
func (r row) cells() []string {
	restarts := fmt.Sprint(r.restarts)
	if r.restarts > 0 && r.ago > 0 {
		restarts += fmt.Sprintf(" (%s ago)", terminal.Age(r.ago))
	}
	next := "-"
	switch at := r.next.Local().Format(time.TimeOnly); {
	case r.next.IsZero():
	case r.in <= 0:
		next = at
	default:
		next = at + " in " + terminal.Wait(r.in)
	}
	return []string{r.key.String(), r.state, restarts, next, r.exit}
}

// colour returns green for a good state, red for a bad one and yellow for one in
// between.
func (r row) colour() terminal.Colour {
	switch r.state {
	case "Running", "Completed":
		return terminal.Green
	case "CrashLoopBackOff", "ContainerCreating", "Removed":
		return terminal.Yellow
	}
	return terminal.Red
}

// A rowWriter prints rows like kubectl get -w, each change on a line. It does not wait
// for its reader.
type rowWriter struct {
	out     *printer.Output
	colour  bool
	json    bool
	columns terminal.Columns
	begun   bool
}

func newRowWriter(format string, out *printer.Output, colour bool) *rowWriter {
	widths := []int{32, len("CrashLoopBackOff"), len("10 (10s ago)"), len("15:04:05 in 2m40s")}
	return &rowWriter{out: out, colour: colour, json: format == "json", columns: terminal.Columns{Gap: 3, Widths: widths}}
}

// row prints a row, after the header if it is the first.
func (w *rowWriter) row(at time.Time, r row) {
	if w.json {
		w.object(at, r)
		return
	}
	if !w.begun {
		w.begun = true
		fmt.Fprintln(w.out, w.columns.Line([]string{"NAME", "STATE", "RESTARTS", "NEXT", "LAST EXIT"}))
	}
	cells := r.cells()
	for i := range cells { // names of the runtime may hold any characters
		cells[i] = terminal.Escape(cells[i])
	}
	text := w.columns.Line(cells)
	if w.colour {
		text = r.colour().Paint(text)
	}
	fmt.Fprintln(w.out, text)
}

// jsonRow is a row in JSON. Times are RFC 3339 with nanoseconds.
type jsonRow struct {
	Time      time.Time     `json:"time"`
	Type      string        `json:"type"` // Container
	Namespace string        `json:"namespace,omitempty"`
	Pod       string        `json:"pod,omitempty"`
	UID       string        `json:"uid,omitempty"`
	Name      string        `json:"name"`
	Container string        `json:"container"` // id of the last attempt
	State     string        `json:"state"`
	Restarts  uint32        `json:"restarts"`
	Next      time.Time     `json:"next,omitzero"`
	Failures  int           `json:"failures,omitempty"` // in a row, if next is set
	Exit      *jsonLastExit `json:"lastExit,omitempty"`
}

type jsonLastExit struct {
	Code     int32     `json:"code"`
	Reason   string    `json:"reason,omitempty"`
	Finished time.Time `json:"finished,omitzero"`
}

func (w *rowWriter) object(at time.Time, r row) {
	j := jsonRow{
		Time: at, Type: "Container", Namespace: r.key.Namespace, Pod: r.key.Pod, UID: r.key.UID, Name: r.key.Name,
		Container: r.container, State: r.state, Restarts: r.restarts, Next: r.next, Failures: r.failures,
	}
	if r.code != nil {
		j.Exit = &jsonLastExit{*r.code, r.reason, r.finished}
	}
	_ = jsonWriter{w.out}.write(j) // an Output never fails
}
