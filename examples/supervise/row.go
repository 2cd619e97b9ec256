package main

import (
	"fmt"
	"time"
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

var header = [5]string{"NAME", "STATE", "RESTARTS", "NEXT", "EXIT"}

func (r row) columns() [5]string {
	restarts := fmt.Sprint(r.restarts)
	if r.restarts > 0 && r.ago > 0 {
		restarts += fmt.Sprintf(" (%v ago)", r.ago.Round(time.Second))
	}
	next := "-"
	if !r.next.IsZero() {
		next = r.next.Local().Format(time.TimeOnly)
		if r.in > 0 {
			next += " in " + rough(r.in)
		}
	}
	return [5]string{r.name, r.state, restarts, next, r.exit}
}

// same reports whether nothing has happened between two rows but time.
func (r row) same(other row) bool {
	r.ago, r.in, other.ago, other.in = 0, 0, 0, 0
	return r == other
}

// colour is the escape sequence of a state's colour.
func (r row) colour() string {
	switch r.state {
	case "Running":
		return "\x1b[32m" // green
	case "CrashLoopBackOff", "Terminating":
		return "\x1b[33m" // yellow
	case "Error", "GivenUp":
		return "\x1b[31m" // red
	}
	return ""
}

// rough is a duration as a person reads it.
func rough(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
