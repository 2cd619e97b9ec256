package backoff

import (
	"encoding/json"
	"time"
)

// Exit is one finished run of a key. A Restarter recognizes an exit by its Run or, if
// that is 0, by its Finished; give at least one of them, for an exit with neither is a
// new one each time. An Exit is a plain value, to be copied and shared. The zero value
// is a success, now, of something that never ran.
//
// A higher Run is a new exit. A lower Run, or none, is a new exit if it finished after
// the last one, and an old one otherwise. So a caller may report all the exits that it
// still sees, each time that it looks. A counter may start over; do not report the exits
// of the old counter any more.
//
// A growing Run tells exits apart whatever the clocks do; times do so only as well as
// clocks agree. While the last exit lies ahead of the clock, because that was set back or
// because the exit's own clock is ahead, an exit without Run that finished earlier is new
// if it does not lie ahead, too. So no exit is lost for long, but an old one that is still
// reported can count again, and then the one ahead of the clock: once each, and once more
// with each new exit, until the clock has caught up.
type Exit struct {
	// Run is restartCount or any other number that grows from one run of the key to the
	// next; 0: there is none.
	Run  int64 `json:"run,omitempty"`
	Code int32 `json:"code"` // exit code
	// Signal is the number of the signal that ended the run; 0: a Code of 128+n says n.
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …; for rules, PolicyFor and Decision.Reason
	Started  time.Time `json:"started,omitzero"`  // zero: it never ran, so it starts no curve over
	Finished time.Time `json:"finished,omitzero"` // zero, or later than the clock: counts as now

	// RetryAfter is the shortest delay that the failure asks for, as an HTTP server does. It
	// counts up to the Max of the policy.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// reportedAt returns e as it counts when it is reported at now: with a Finished.
func (e Exit) reportedAt(now time.Time) Exit {
	if e.Finished.IsZero() {
		e.Finished = now
	}
	return e
}

// finished is the instant from which a delay is counted, once it was reported.
func (e Exit) finished(now time.Time) time.Time {
	if e.Finished.After(now) {
		return now
	}
	return e.Finished
}

// ran is how long the attempt lasted, by its own clock, once it was reported.
func (e *Exit) ran() time.Duration {
	if e.Started.IsZero() {
		return 0
	}
	return e.Finished.Sub(e.Started)
}

// exitJSON writes a field beside the others, which it hides.
type exitJSON struct {
	*exitFields
	RetryAfter storedDuration `json:"retryAfter,omitzero"`
}

// MarshalJSON returns the exit with RetryAfter as a text.
func (e Exit) MarshalJSON() ([]byte, error) {
	return json.Marshal(exitJSON{(*exitFields)(&e), storedDuration(e.RetryAfter)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (e *Exit) UnmarshalJSON(text []byte) error {
	j := exitJSON{(*exitFields)(e), storedDuration(e.RetryAfter)}
	err := json.Unmarshal(text, &j)
	e.RetryAfter = time.Duration(j.RetryAfter)
	return err
}

type exitFields Exit
