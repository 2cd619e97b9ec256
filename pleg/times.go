package pleg

import "time"

// oldest is the age beyond which a runtime's stamp is not believed.
const oldest = 10 * time.Minute

// localTime translates a runtime's stamp into local time by its age, and reports
// whether the stamp is believed. A missing stamp and one from the future count as
// now, one that is too old counts as oldest; none of these is believed.
func localTime(now, stamp time.Time) (at time.Time, clean bool) {
	if stamp.IsZero() {
		return now, false
	}
	age := now.Sub(stamp)
	at = now.Add(-min(max(age, 0), oldest))
	return at, age >= 0 && age <= oldest
}

// lenientStamp is the latest time that a stamp may stand for: a stamp of whole
// seconds may stand for the end of its second.
func lenientStamp(stamp time.Time) time.Time {
	if !stamp.IsZero() && stamp.Nanosecond() == 0 {
		return stamp.Add(time.Second - 1)
	}
	return stamp
}

// A wakeup is when to look again. The zero value is never. A flag says so and not
// the zero time, at which a clock may well stand.
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
