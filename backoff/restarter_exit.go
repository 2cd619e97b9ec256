package backoff

import (
	"encoding/json"
	"time"
)

// Exit is one finished run of a key. The zero value is a success that finishes now,
// without a start.
//
// A Restarter identifies an exit by its Run or, if 0, by its Finished. Set at least
// one, because an exit with neither is always new. An exit with a higher Run is new.
// One with a lower Run, or none, is new if it finished after the last exit. A caller
// may therefore report all exits it still sees. If the run numbers start over, stop
// reporting the exits from before.
//
// Without a Run, clocks matter. Suppose the last exit finished in the future, because
// its own clock is ahead or the clock was set back. Then an exit in the past is new if
// it finished after the last exit was reported, or if the clock was set back to before
// that report. No exit is missed for long, but until the clock has caught up, exits
// still being reported may count again: once each, and once more after each new exit.
type Exit struct {
	// Run is restartCount or another number that grows with every run; 0 means none.
	Run  int64 `json:"run,omitempty"`
	Code int32 `json:"code"` // exit code
	// Signal is the number of the signal that ended the run; 0 derives it from a Code
	// of 128+n.
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …; used by rules, PolicyFor and Decision.Reason
	Started  time.Time `json:"started,omitzero"`  // zero if it never ran
	Finished time.Time `json:"finished,omitzero"` // counts as now if zero or in the future

	// RetryAfter is the minimum delay requested with the failure, for instance by an
	// HTTP server, up to the policy's Max.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// reportedAt returns e with a zero Finished replaced by now.
func (e Exit) reportedAt(now time.Time) Exit {
	if e.Finished.IsZero() {
		e.Finished = now
	}
	return e
}

// finished returns the instant at which the delay of a reported exit starts.
func (e Exit) finished(now time.Time) time.Time {
	if e.Finished.After(now) {
		return now
	}
	return e.Finished
}

// ran returns the length of a reported run, by the clock of the exit.
func (e *Exit) ran() time.Duration {
	if e.Started.IsZero() {
		return 0
	}
	return e.Finished.Sub(e.Started)
}

// exitJSON adds a field that hides one of the same name.
type exitJSON struct {
	*exitFields
	RetryAfter durationText `json:"retryAfter,omitzero"`
}

// MarshalJSON encodes RetryAfter as a string.
func (e Exit) MarshalJSON() ([]byte, error) {
	return json.Marshal(exitJSON{(*exitFields)(&e), durationText(e.RetryAfter)})
}

// UnmarshalJSON ignores unknown fields.
func (e *Exit) UnmarshalJSON(text []byte) error {
	j := exitJSON{(*exitFields)(e), durationText(e.RetryAfter)}
	err := json.Unmarshal(text, &j)
	e.RetryAfter = time.Duration(j.RetryAfter)
	return err
}

type exitFields Exit
