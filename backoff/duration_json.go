package backoff

import (
	"encoding/json"
	"time"
)

// Durations are texts in JSON, such as "1m30s". States that versions before v0.3.0
// wrote have nanoseconds, which are still read.

// durationText is a duration that JSON has as a text.
type durationText time.Duration

func (d durationText) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *durationText) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = durationText(parsed)
	return err
}

// storedDuration is a duration of a state, written as a text.
type storedDuration time.Duration

func (d storedDuration) MarshalText() ([]byte, error) { return durationText(d).MarshalText() }

func (d *storedDuration) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*durationText)(d))
	}
	return json.Unmarshal(text, (*int64)(d))
}

// The types below write a field beside the others of their struct, which it hides.
type (
	exitFields     Exit
	decisionFields Decision
	ruleStateOnly  RuleState
	trackerFields  TrackerState
)

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

type decisionJSON struct {
	*decisionFields
	Delay storedDuration `json:"delay"`
}

// MarshalJSON returns the decision with Delay as a text.
func (d Decision) MarshalJSON() ([]byte, error) {
	return json.Marshal(decisionJSON{(*decisionFields)(&d), storedDuration(d.Delay)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (d *Decision) UnmarshalJSON(text []byte) error {
	j := decisionJSON{(*decisionFields)(d), storedDuration(d.Delay)}
	err := json.Unmarshal(text, &j)
	d.Delay = time.Duration(j.Delay)
	return err
}

type ruleStateJSON struct {
	*ruleStateOnly
	Keep  storedDuration `json:"keep,omitzero"`
	Reset storedDuration `json:"reset,omitzero"`
}

// MarshalJSON returns the counts with their durations as texts.
func (s RuleState) MarshalJSON() ([]byte, error) {
	return json.Marshal(ruleStateJSON{(*ruleStateOnly)(&s), storedDuration(s.Keep), storedDuration(s.Reset)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (s *RuleState) UnmarshalJSON(text []byte) error {
	j := ruleStateJSON{(*ruleStateOnly)(s), storedDuration(s.Keep), storedDuration(s.Reset)}
	err := json.Unmarshal(text, &j)
	s.Keep, s.Reset = time.Duration(j.Keep), time.Duration(j.Reset)
	return err
}

type trackerJSON struct {
	*trackerFields
	Delay storedDuration `json:"delay"`
}

// MarshalJSON returns the state with Delay as a text.
func (s TrackerState) MarshalJSON() ([]byte, error) {
	return json.Marshal(trackerJSON{(*trackerFields)(&s), storedDuration(s.Delay)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (s *TrackerState) UnmarshalJSON(text []byte) error {
	j := trackerJSON{(*trackerFields)(s), storedDuration(s.Delay)}
	err := json.Unmarshal(text, &j)
	s.Delay = time.Duration(j.Delay)
	return err
}
