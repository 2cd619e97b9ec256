package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// most is the upper bound of the counts in a state.
const most = 1 << 53

// uid matches the results of newUID.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// valid returns an error that names the field if no run can have written the state.
func (s *state) valid() error {
	switch {
	case s.Job == nil || s.Run == "":
		return errors.New("not a state of this program")
	case !process.ValidRun(s.Run):
		return fmt.Errorf("run: %q is not the name of a run", s.Run)
	case s.Step < 0 || s.Step > most:
		return fmt.Errorf("step: is %d, must be in [0, %d]", s.Step, most)
	case !uid.MatchString(s.Job.UID):
		return fmt.Errorf("job.metadata.uid: %q is not a UID", s.Job.UID)
	}
	if err := s.Job.ValidateStatus(); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	known := make(map[string]bool)
	for name, pods := range map[string][]savedPod{"pods": s.Pods, "suspended": s.Suspended} {
		for i, p := range pods {
			if err := p.valid(&s.Job.Spec, known); err != nil {
				return fmt.Errorf("%s[%d].%w", name, i, err)
			}
		}
	}
	return nil
}

// valid returns an error if the pod cannot be one of that Job. known holds the UIDs of
// the other pods, and valid adds this one.
func (p *savedPod) valid(spec *batch.JobSpec, known map[string]bool) error {
	id := p.Metadata.UID
	switch {
	case !uid.MatchString(id):
		return fmt.Errorf("metadata.uid: %q is not a UID", id)
	case known[id]:
		return fmt.Errorf("metadata.uid: %s is another pod's, too", id)
	case p.Attempt < 1 || p.Attempt > most:
		return fmt.Errorf("attempt: is %d, must be in [1, %d]", p.Attempt, most)
	case p.Index < -1 || spec.CompletionMode == batch.IndexedCompletion && (p.Index < 0 || spec.Completions != nil && p.Index >= int(*spec.Completions)):
		return fmt.Errorf("index: is %d, the Job has no such index", p.Index)
	}
	known[id] = true
	for name, statuses := range map[string][]batch.ContainerStatus{"initContainerStatuses": p.Status.InitContainerStatuses, "containerStatuses": p.Status.ContainerStatuses} {
		for i, c := range statuses {
			if c.RestartCount < 0 {
				return fmt.Errorf("status.%s[%d].restartCount: is %d, must not be below 0", name, i, c.RestartCount)
			}
		}
	}
	return nil
}
