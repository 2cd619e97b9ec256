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
