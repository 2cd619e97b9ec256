package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// lastLine describes the end of a deleted pod on which the Engine decides nothing.
func lastLine(p *pod) string {
	s := &p.Status
	if s.Reason != "" {
		return "ended before a process was started"
	}
	killed := false
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.Signal == int32(syscall.SIGKILL) {
			killed = true
		}
	}
	switch {
	case killed && p.run.graceOver():
		return fmt.Sprintf("ended: %s, after the grace period of %v", endText(s), p.run.grace)
	case s.Phase == batch.PodSucceeded:
		return "ended: succeeded"
	}
	return "ended: " + endText(s)
}

// endText lists the failures of a pod's containers.
func endText(s *batch.PodStatus) string {
	if s.Reason != "" {
		return s.Reason
	}
	var parts []string
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			parts = append(parts, exitText(c.Name, t.ExitCode, t.Signal))
		}
	}
	switch {
	case s.Phase != batch.PodFailed:
		parts = append(parts, "it is being deleted")
	case len(parts) == 0:
		parts = append(parts, "not all containers have run")
	}
	return strings.Join(parts, ", ")
}

// exitText describes the exit of a container.
func exitText(container string, code, signal int32) string {
	if signal != 0 {
		return fmt.Sprintf("container %s was killed by signal %d (exit code %d)", container, signal, code)
	}
	return fmt.Sprintf("container %s ended with exit code %d", container, code)
}

// verdict describes the consequence of a failure. counted is the number of the Job's
// counted failures, including this one.
func verdict(d jobpolicy.PodDecision, spec *batch.JobSpec, counted int) string {
	match, by := d.Match, "no rule matched"
	switch {
	case spec.PodFailurePolicy == nil:
		by = "no failure policy"
	case match.Rule >= 0:
		by = fmt.Sprintf("rule %d (%s)", match.Rule, match.Action)
	}
	switch limit := spec.BackoffLimitPerIndex; {
	case !match.Counted():
		return by + ": not counted"
	case match.Action == batch.ActionFailJob:
		return by + ": counted"
	case limit == nil:
		return fmt.Sprintf("%s: counted: failure %d, limit %d", by, counted, *spec.BackoffLimit)
	default:
		text := fmt.Sprintf("%s: failure %d of index %d, limit %d", by, d.Failures, d.Index, *limit)
		if d.IndexFailed {
			text += ": the index has failed"
		}
		return text
	}
}
