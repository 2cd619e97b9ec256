package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// save writes the state for a later run. With sync it returns when the state is on
// disk. It also returns an error if the exit of a process could not be written.
func (r *runner) save(sync bool) error {
	store := r.host.store
	if store == nil {
		return nil
	}
	if err := r.host.children.Err(); err != nil {
		return err
	}
	s := state{Run: r.host.children.Run(), Job: r.job, Fields: r.host.sources, Memory: r.memory}
	for _, p := range r.pods {
		s.Pods = append(s.Pods, p.saved())
	}
	for _, p := range r.suspended {
		s.Suspended = append(s.Suspended, p.saved())
	}
	if err := store.save(&s, sync); err != nil {
		return fmt.Errorf("-state: the state cannot be written: %w", err)
	}
	return nil
}

func (p *pod) saved() savedPod {
	return savedPod{Metadata: p.ObjectMeta, Index: p.index, Attempt: p.attempt, Status: p.Status}
}

func (s *savedPod) pod() *pod {
	return &pod{Pod: batch.Pod{ObjectMeta: s.Metadata, Status: s.Status}, index: s.Index, attempt: s.Attempt}
}

// resume takes over the state of an earlier run and returns the pods to run. It kills
// processes of that run that outlived their guard. Running pods run again, uncounted,
// and ended pods keep their status.
func (r *runner) resume(old *state) (live []*pod, err error) {
	if err := process.KillRun(old.Run); err != nil {
		return nil, err
	}
	r.job.UID, r.job.Status, r.memory = old.Job.UID, old.Job.Status, old.Memory
	past, err := r.host.store.histories()
	if err != nil {
		return nil, err
	}
	for _, s := range old.Pods {
		p := s.pod()
		switch {
		case p.ended():
			r.restore(p)
		case p.DeletionTimestamp.IsZero():
			live = append(live, r.rerun(p, past[p.UID].withoutSignalled()))
		case p.tracked():
			r.add(p, past[p.UID])
			p.run.lose()
			p.run.terminate()
			live = append(live, p)
		}
	}
	for _, s := range old.Suspended {
		p := s.pod()
		live = append(live, r.rerun(p, past[p.UID].withoutSignalled()))
	}
	return live, nil
}

// restore takes over an ended pod with its status.
func (r *runner) restore(p *pod) {
	status := p.Status
	r.add(p, nil)
	p.run.update(func(s *batch.PodStatus) { *s = status })
}

// rerun prepares a pod that was running to run again, or takes it over if it has ended
// since. Containers that restart in their pod keep their count.
func (r *runner) rerun(p *pod, past history) *pod {
	spec := &r.job.Spec.Template.Spec
	over, _ := past.over(spec)
	if !over && spec.RestartPolicy == batch.RestartPolicyNever {
		past = nil
	}
	r.add(p, past)
	if over {
		r.report.event(p.Name, "had ended meanwhile")
	} else {
		r.report.event(p.Name, "was running: runs again")
	}
	return p
}

// check returns errors if the Job of m cannot resume from the state, because the state
// belongs to another Job or an API server would reject the change.
func (s *state) check(m *manifest) field.Errors {
	job, old := m.Job, s.Job
	if job.Name != old.Name || job.Namespace != old.Namespace {
		return field.Errors{{Field: "metadata.name", Type: field.Invalid, Value: job.Namespace + "/" + job.Name,
			Detail: "the state belongs to " + old.Namespace + "/" + old.Name + anotherFolder}}
	}
	var errs field.Errors
	errors.As(job.Spec.ValidateUpdate(&old.Spec), &errs)
	if !sameJSON(job.Spec.Template, old.Spec.Template) || !sameJSON(m.Sources, s.Fields) {
		errs = append(errs, field.Error{Field: "spec.template", Type: field.Invalid, Detail: "must not change"})
	}
	for i := range errs {
		errs[i].Detail += " while -state resumes the Job" + anotherFolder
	}
	return errs
}

// anotherFolder advises how to start a new run.
const anotherFolder = "; name another folder to run it from its beginning"

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
