package pleg

import "time"

// oldest is the greatest age of a believed timestamp.
const oldest = 10 * time.Minute

// localTime translates a runtime's timestamp into local time by its age, and reports
// whether the timestamp is believed. A missing or future timestamp counts as now, and
// one that is too old as oldest; neither is believed.
func localTime(now, stamp time.Time) (at time.Time, clean bool) {
	if stamp.IsZero() {
		return now, false
	}
	age := now.Sub(stamp)
	at = now.Add(-min(max(age, 0), oldest))
	return at, age >= 0 && age <= oldest
}

// lenientStamp returns the latest time that a timestamp may stand for, which for whole
// seconds is the end of the second.
func lenientStamp(stamp time.Time) time.Time {
	if !stamp.IsZero() && stamp.Nanosecond() == 0 {
		return stamp.Add(time.Second - 1)
	}
	return stamp
}

// A wakeup is the time of the next look. The zero value means never. It uses a flag
// because a clock may legitimately show the zero time.
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
