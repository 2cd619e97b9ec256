package backoff

import (
	"encoding/json"
	"time"
)

// In JSON, durations are strings such as "1m30s".

// durationText is a duration written to JSON as a string.
type durationText time.Duration

func (d durationText) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *durationText) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = durationText(parsed)
	return err
}

// storedDuration is a duration of a state. JSON may hold it as a string or, from
// versions before v0.3.0, as a number of nanoseconds.
type storedDuration time.Duration

func (d storedDuration) MarshalText() ([]byte, error) { return durationText(d).MarshalText() }

func (d *storedDuration) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*durationText)(d))
	}
	return json.Unmarshal(text, (*int64)(d))
}
