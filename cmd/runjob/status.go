package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/jobpolicy/batch"
	"sigs.k8s.io/yaml"
)

// writeStatus writes the Job's status as YAML like kubectl, with times in whole
// seconds. The last line is a comment with the decision that ended the Job, in green or
// red. If the Job has not finished, it is yellow.
func writeStatus(w io.Writer, colours bool, job *batch.Job) error {
	status := job.Status
	status.StartTime = seconds(status.StartTime)
	status.CompletionTime = seconds(status.CompletionTime)
	status.Conditions = slices.Clone(status.Conditions)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastProbeTime, c.LastTransitionTime = seconds(c.LastProbeTime), seconds(c.LastTransitionTime)
	}
	text, err := json.Marshal(struct {
		Status batch.JobStatus `json:"status"`
	}{status})
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	decision, colour := "# not finished", terminal.Yellow
	if c, ok := job.Status.Finished(); ok {
		decision, colour = "# "+terminal.Escape(describe(c)), terminal.Red
		if c.Type == batch.JobComplete {
			colour = terminal.Green
		}
	}
	if colours {
		decision = colour.Paint(decision)
	}
	if _, err = fmt.Fprintf(w, "%s%s\n", text, decision); err != nil {
		return fmt.Errorf("the status cannot be written: %w", err)
	}
	return nil
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// describe returns a condition as one line.
func describe(c batch.JobCondition) string {
	text := string(c.Type)
	if c.Status != batch.ConditionTrue {
		text += "=" + string(c.Status)
	}
	return fmt.Sprintf("%s (%s): %s", text, c.Reason, c.Message)
}
