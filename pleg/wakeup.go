package pleg

import "time"

// A wakeup is when to look again. The zero value is never; that is a flag and
// no time, as a clock may well stand at the zero time.
type wakeup struct {
	at  time.Time
	set bool
}

func wakeAt(t time.Time) wakeup { return wakeup{t, true} }

// or returns the earlier of two wakeups.
func (w wakeup) or(x wakeup) wakeup {
	if !w.set || x.set && x.at.Before(w.at) {
		return x
	}
	return w
}
