// Package timeline draws the run of a Job: what happened to each index, when, and for
// how long. Events, one JSON object per line, become a Chart, and that becomes a
// picture or a page.
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

// What is what happened.
type What string

// What can happen. Readers pass over what they do not know.
const (
	Began       What = "began"       // the first run of the Job begins
	Resumed     What = "resumed"     // another run goes on with the Job
	Created     What = "created"     // a pod
	Started     What = "started"     // the first process of a pod
	Restarted   What = "restarted"   // a container ended, and will start again in its pod
	Succeeded   What = "succeeded"   // a pod
	Failed      What = "failed"      // a pod, and what was decided about it
	Deleted     What = "deleted"     // a pod, which gets its grace period
	Terminated  What = "terminated"  // a deleted pod has ended, and nothing was decided about it
	IndexFailed What = "indexFailed" // an index, which gets no further pod
	Condition   What = "condition"   // of the Job
	Ended       What = "ended"       // the run; whether the Job did, its conditions say
)

// Event is something that happened in the run of a Job. The names of its JSON fields are
// stable; fields that do not apply are left out.
type Event struct {
	Time      time.Time `json:"time"` // when it happened, to the nanosecond
	What      What      `json:"event"`
	Job       string    `json:"job,omitempty"`
	Pod       string    `json:"pod,omitempty"`
	UID       string    `json:"uid,omitempty"`       // of the pod; tells apart pods of one name
	Index     *int      `json:"index,omitempty"`     // completion index; none: not Indexed, or not about one
	Attempt   int       `json:"attempt,omitempty"`   // the how many-th pod of its index, or of a Job without indexes
	Container string    `json:"container,omitempty"` // whose exit code it is
	ExitCode  *int32    `json:"exitCode,omitempty"`
	Signal    int32     `json:"signal,omitempty"` // that killed the container
	Condition string    `json:"condition,omitempty"`
	Status    string    `json:"status,omitempty"` // of the condition: "True", "False"
	Reason    string    `json:"reason,omitempty"` // of the condition, or why the pod failed or was deleted
	Message   string    `json:"message,omitempty"`
	Rule      *int      `json:"rule,omitempty"` // of the pod failure policy that matched; none: no rule did
	RuleName  string    `json:"ruleName,omitempty"`
	Action    string    `json:"action,omitempty"`  // of that rule
	Counted   *bool     `json:"counted,omitempty"` // whether the failure counts towards a limit
	Wait      Duration  `json:"wait,omitzero"`     // before the next pod of the index, or before the restart
	Why       string    `json:"why,omitempty"`     // why so long
}

// Duration is a time.Duration that JSON has as a text such as "1m30s".
type Duration time.Duration

// MarshalText returns the form of time.Duration.String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration does. Durations below 0 are refused.
func (d *Duration) UnmarshalText(text []byte) error {
	got, err := time.ParseDuration(string(text))
	if err == nil && got < 0 {
		err = fmt.Errorf("%s is below 0", text)
	}
	*d = Duration(got)
	return err
}

// Write writes events, a line for each, with one call of w.Write.
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

// valid returns what no run can have written.
func (e *Event) valid() error {
	switch {
	case e.What == "":
		return fmt.Errorf("event: is missing")
	case e.Time.IsZero():
		return fmt.Errorf("time: is missing")
	case e.Time.Year() < 1678 || e.Time.Year() > 2261: // differences must fit a Duration
		return fmt.Errorf("time: year %d is not in 1678..2261", e.Time.Year())
	case e.Index != nil && (*e.Index < 0 || *e.Index > 1<<31-1):
		return fmt.Errorf("index: %d is not in 0..2147483647", *e.Index)
	case e.Attempt < 0:
		return fmt.Errorf("attempt: %d is below 0", e.Attempt)
	}
	return nil
}
