package jobrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/lockfile"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/statefile"
)

// The header of a state file.
const (
	stateProgram = "restart job"
	stateVersion = 1
)

// state is the content of the file of Options.State: all input of the decisions, and the
// attempts in progress. It is saved before anything follows from it, so whenever a run is
// killed, the next one finds all that had any effect. The processes of that time are dead, and
// runs again, uncounted.
type state struct {
	Program string `json:"program"`
	Version int    `json:"version"`

	Name      string          `json:"name"` // of the Job
	Namespace string          `json:"namespace"`
	UID       string          `json:"uid"`
	Spec      batchv1.JobSpec `json:"spec"`
	Status    batch.JobStatus `json:"status,omitzero"`
	Memory    jobpolicy.State `json:"memory,omitzero"`
	Pods      []savedPod      `json:"pods,omitempty"`

	// Suspended holds the pods ended by an interruption. The Job no longer has them;
	// the next run starts them again.
	Suspended []savedPod `json:"suspended,omitempty"`
}

// savedPod is a pod without its spec, which is the Job's template.
type savedPod struct {
	Metadata batch.ObjectMeta          `json:"metadata"`
	Index    int                       `json:"index"`
	Attempt  int                       `json:"attempt"`
	Status   batch.PodStatus           `json:"status"`
	Backoff  map[string]*backoff.State `json:"backoff,omitempty"` // by container
}

func (p *Pod) saved() savedPod {
	return savedPod{Metadata: p.ObjectMeta, Index: p.Index, Attempt: p.Attempt, Status: p.Status, Backoff: p.seen.states}
}

func (s *savedPod) pod() *Pod {
	return &Pod{Pod: batch.Pod{ObjectMeta: s.Metadata, Status: s.Status}, Index: s.Index, Attempt: s.Attempt}
}

// store keeps the state of a run in a file. Nobody else uses the file while it is open.
type store struct {
	path string
	lock *lockfile.File
	spec *batchv1.JobSpec // of the Job, as the manifest has it
	old  *state           // of an earlier run; nil if the file is new
}

// openStore locks the file of a state and reads it.
func openStore(path string) (*store, error) {
	lock, err := lockfile.Take(path)
	if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	s := &store{path: path, lock: lock}
	if s.old, err = readState(path); err != nil {
		s.close()
		return nil, fmt.Errorf("--state: %w", err)
	}
	return s, nil
}

// readState returns the state in a file, or nil if the file is missing or empty.
func readState(path string) (*state, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	var s state
	if _, err = statefile.Load(path, &s); err == nil {
		err = s.valid()
	}
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s is not a state of this program, or damaged: %w; it is kept as it is", path, rootOf(err))
	}
	return &s, nil
}

// rootOf returns the innermost error.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// close removes the lock.
func (s *store) close() {
	s.lock.Release()
}

// save saves the Job with its pods, and answers those who asked for that.
func (r *Run) save() error {
	if r.store == nil {
		return nil
	}
	s := state{
		Program: stateProgram, Version: stateVersion,
		Name: r.job.Name, Namespace: r.job.Namespace, UID: r.job.UID,
		Spec: *r.store.spec, Status: r.job.Status, Memory: r.memory,
	}
	for _, p := range r.pods {
		s.Pods = append(s.Pods, p.saved())
	}
	for _, p := range r.suspended {
		s.Suspended = append(s.Suspended, p.saved())
	}
	if err := statefile.Save(r.store.path, &s); err != nil {
		return fmt.Errorf("--state: the state cannot be written: %w", err)
	}
	r.unsaved = false
	r.answer()
	return nil
}

// answer tells those who asked that the status of all pods is saved.
func (r *Run) answer() {
	for _, done := range r.asked {
		close(done)
	}
	r.asked = nil
}

// takeOver checks that the run can go on with an earlier one, and takes over its Job.
// The error is field.Errors.
func (r *Run) takeOver(generated string) error {
	old := r.old
	if generated != "" && len(old.Name) > len(generated) && strings.HasPrefix(old.Name, generated) {
		r.job.Name = old.Name
	}
	if errs := r.differences(old); len(errs) > 0 {
		return errs
	}
	r.job.UID, r.job.Status, r.memory = old.UID, old.Status, old.Memory
	return nil
}

// otherwise is how to begin anew.
const otherwise = "; name another file to run it from its beginning"

// differences returns the parts in which the Job differs from that of an earlier run: its name,
// its template, or a change that an API server would reject.
func (r *Run) differences(old *state) (errs field.Errors) {
	if r.job.Name != old.Name || r.job.Namespace != old.Namespace {
		errs.Add(field.Invalid, "metadata.name", r.job.Namespace+"/"+r.job.Name,
			"the state belongs to "+old.Namespace+"/"+old.Name+otherwise)
		return errs
	}
	before := convert.JobSpec(&old.Spec)
	before.Default()
	errors.As(r.job.Spec.ValidateUpdate(before), &errs)
	if !sameJSON(r.store.spec.Template, old.Spec.Template) {
		errs.Add(field.Invalid, "spec.template", nil, "must not change")
	}
	for i := range errs {
		errs[i].Detail += " while --state goes on with the Job" + otherwise
	}
	return errs
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// resume takes over the pods of an earlier run and returns those to run.
func (r *Run) resume() (live []*Pod) {
	if r.old == nil {
		return nil
	}
	for i := range r.old.Pods {
		s := &r.old.Pods[i]
		p := s.pod()
		isDeleted := !p.DeletionTimestamp.IsZero()
		if isDeleted && !p.Tracked() && !p.Finished() {
			continue // nobody waits for its end
		}
		r.add(p, s)
		switch {
		case p.Finished():
			p.run.end()
			continue
		case isDeleted:
			p.run.lose()
			p.run.terminate()
		case !p.run.mainOver():
			r.note(p.Name, "was running: runs again")
		}
		live = append(live, p)
	}
	for i := range r.old.Suspended {
		s := &r.old.Suspended[i]
		s.Status.StartTime = time.Now() // a cluster makes new pods
		p := s.pod()
		r.add(p, s)
		r.note(p.Name, "was running: runs again")
		live = append(live, p)
	}
	return live
}

// uid matches the results of newUID.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// most is the upper bound of the counts in a state.
const most = 1 << 53

// valid returns an error that names the field if no run can have written the state.
func (s *state) valid() error {
	switch {
	case s.Program != stateProgram:
		return fmt.Errorf("program: is %q, must be %q", s.Program, stateProgram)
	case s.Version != stateVersion:
		return fmt.Errorf("version: is %d, must be %d", s.Version, stateVersion)
	case !uid.MatchString(s.UID):
		return fmt.Errorf("uid: %q is not a UID", s.UID)
	}
	job := &batch.Job{Spec: *convert.JobSpec(&s.Spec), Status: s.Status}
	job.Spec.Default()
	if err := job.ValidateStatus(); err != nil {
		return err
	}
	known := make(map[string]bool)
	for name, pods := range map[string][]savedPod{"pods": s.Pods, "suspended": s.Suspended} {
		for i := range pods {
			if err := pods[i].valid(&job.Spec, known); err != nil {
				return fmt.Errorf("%s[%d].%w", name, i, err)
			}
		}
	}
	return nil
}

// valid returns an error if the pod cannot be one of that Job. known holds the UIDs of
// the other pods, and valid adds this one.
func (s *savedPod) valid(spec *batch.JobSpec, known map[string]bool) error {
	id := s.Metadata.UID
	switch {
	case !uid.MatchString(id):
		return fmt.Errorf("metadata.uid: %q is not a UID", id)
	case known[id]:
		return fmt.Errorf("metadata.uid: %s is another pod's, too", id)
	case s.Attempt < 1 || s.Attempt > most:
		return fmt.Errorf("attempt: is %d, must be in [1, %d]", s.Attempt, most)
	case s.Index < -1 || spec.CompletionMode == batch.IndexedCompletion && (s.Index < 0 || s.Index >= int(*spec.Completions)):
		return fmt.Errorf("index: is %d, the Job has no such index", s.Index)
	}
	known[id] = true
	pod := &spec.Template.Spec
	for _, part := range []struct {
		name       string
		containers []batch.Container
		statuses   []batch.ContainerStatus
	}{
		{"initContainerStatuses", pod.InitContainers, s.Status.InitContainerStatuses},
		{"containerStatuses", pod.Containers, s.Status.ContainerStatuses},
	} {
		if len(part.statuses) != len(part.containers) {
			return fmt.Errorf("status.%s: has %d, the template has %d containers", part.name, len(part.statuses), len(part.containers))
		}
		for i := range part.statuses {
			switch c := &part.statuses[i]; {
			case c.Name != part.containers[i].Name:
				return fmt.Errorf("status.%s[%d].name: is %q, must be %q", part.name, i, c.Name, part.containers[i].Name)
			case c.RestartCount < 0:
				return fmt.Errorf("status.%s[%d].restartCount: is %d, must not be below 0", part.name, i, c.RestartCount)
			}
		}
	}
	for name, state := range s.Backoff {
		if state == nil {
			return fmt.Errorf("backoff[%s]: must not be null", name)
		}
	}
	return nil
}
