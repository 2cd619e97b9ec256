// Package timeline draws the run of a Job as a history of each index. Events, one JSON
// object per line, become a Chart, and then a picture or a page.
//
// The package starts nothing and reads no clock. It needs only the standard library and
// package indexset, so it also runs in a browser.
package timeline

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Kind is the kind of an event.
type Kind string

// Kinds of events. Readers ignore unknown ones.
const (
	Began       Kind = "began"       // the Job's first run
	Resumed     Kind = "resumed"     // another run of the Job
	Created     Kind = "created"     // a pod
	Started     Kind = "started"     // the first process of a pod
	Restarted   Kind = "restarted"   // a container ended and will start again in its pod
	Succeeded   Kind = "succeeded"   // a pod
	Failed      Kind = "failed"      // a pod, with the decision on it
	Deleted     Kind = "deleted"     // a pod, which has its grace period
	Terminated  Kind = "terminated"  // a deleted pod, without a decision
	IndexFailed Kind = "indexFailed" // an index, which gets no more pods
	Condition   Kind = "condition"   // of the Job
	Ended       Kind = "ended"       // the run; conditions tell whether the Job ended
)

// Event is an event in the run of a Job. Its JSON field names are stable. Fields that
// do not apply are omitted.
type Event struct {
	Time      time.Time `json:"time"` // to the nanosecond
	Kind      Kind      `json:"event"`
	Job       string    `json:"job,omitempty"`
	Pod       string    `json:"pod,omitempty"`
	UID       string    `json:"uid,omitempty"`       // of the pod; distinguishes pods of one name
	Index     *int      `json:"index,omitempty"`     // completion index, if any
	Attempt   int       `json:"attempt,omitempty"`   // number of the pod in its index or Job
	Container string    `json:"container,omitempty"` // with the exit code
	ExitCode  *int32    `json:"exitCode,omitempty"`
	Signal    int32     `json:"signal,omitempty"` // that killed the container
	Condition string    `json:"condition,omitempty"`
	Status    string    `json:"status,omitempty"` // of the condition: "True", "False"
	Reason    string    `json:"reason,omitempty"` // of the condition, failure or deletion
	Message   string    `json:"message,omitempty"`
	Rule      *int      `json:"rule,omitempty"` // of the pod failure policy; absent if none matched
	RuleName  string    `json:"ruleName,omitempty"`
	Action    string    `json:"action,omitempty"`  // of that rule
	Counted   *bool     `json:"counted,omitempty"` // towards a limit
	Wait      Duration  `json:"wait,omitzero"`     // before the next pod or the restart
	Why       string    `json:"why,omitempty"`     // reason for the length of Wait
}

// Duration is a time.Duration with a JSON text such as "1m30s".
type Duration time.Duration

// MarshalText returns the format of time.Duration.String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses the format of time.ParseDuration. It refuses negative durations.
func (d *Duration) UnmarshalText(text []byte) error {
	got, err := time.ParseDuration(string(text))
	if err == nil && got < 0 {
		err = fmt.Errorf("%s is below 0", text)
	}
	*d = Duration(got)
	return err
}

// Write writes events, one per line, in one call of w.Write.
func Write(w io.Writer, events ...Event) error {
	var all []byte
	for i := range events {
		line, err := json.Marshal(&events[i])
		if err != nil {
			return fmt.Errorf("timeline: Write: event %d: %w", i, err)
		}
		all = append(append(all, line...), '\n')
	}
	_, err := w.Write(all)
	return err
}

// valid returns an error for an event that no run can have written.
func (e *Event) valid() error {
	switch {
	case e.Kind == "":
		return fmt.Errorf("event: is missing")
	case e.Time.IsZero():
		return fmt.Errorf("time: is missing")
	case e.Time.Year() < 1678 || e.Time.Year() > 2261: // differences must fit into a Duration
		return fmt.Errorf("time: year %d is not in 1678..2261", e.Time.Year())
	case e.Index != nil && (*e.Index < 0 || *e.Index > 1<<31-1):
		return fmt.Errorf("index: %d is not in 0..2147483647", *e.Index)
	case e.Attempt < 0:
		return fmt.Errorf("attempt: %d is below 0", e.Attempt)
	}
	return nil
}
