package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/restartkit/restart/jobpolicy"
)

// A memory is written without a status only for new facts about ends.
func TestMemoryThatSaysMoreIsWritten(t *testing.T) {
	base := func(change func(*jobpolicy.State)) jobpolicy.State {
		m := jobpolicy.State{
			Job: "job", Failures: 1, LastFailure: t0, Ignored: 1, LastIgnored: t0,
			Ahead: map[string]time.Time{"a": t0}, Handled: []string{"h"}, Released: []string{"r"},
		}
		change(&m)
		return m
	}
	for _, test := range []struct {
		name   string
		change func(*jobpolicy.State)
		want   bool
	}{
		{"nothing", func(*jobpolicy.State) {}, false},
		{"failures", func(m *jobpolicy.State) { m.Failures++ }, true},
		{"the last failure", func(m *jobpolicy.State) { m.LastFailure = t0.Add(1) }, true},
		{"the last failure, in another zone", func(m *jobpolicy.State) { m.LastFailure = t0.In(time.FixedZone("", 3600)) }, false},
		{"ignored failures", func(m *jobpolicy.State) { m.Ignored++ }, true},
		{"the last ignored failure", func(m *jobpolicy.State) { m.LastIgnored = t0.Add(1) }, true},
		{"a pod ahead", func(m *jobpolicy.State) { m.Ahead = map[string]time.Time{"a": t0, "b": t0} }, true},
		{"another time of a pod ahead", func(m *jobpolicy.State) { m.Ahead = map[string]time.Time{"a": t0.Add(1)} }, false},
		{"no pod ahead", func(m *jobpolicy.State) { m.Ahead = nil }, false},
		{"a pod handled", func(m *jobpolicy.State) { m.Handled = []string{"h", "i"} }, true},
		{"another pod handled", func(m *jobpolicy.State) { m.Handled = []string{"i"} }, true},
		{"no pod handled", func(m *jobpolicy.State) { m.Handled = nil }, false},
		{"a pod released", func(m *jobpolicy.State) { m.Released = []string{"r", "s"} }, false},
		{"the status written", func(m *jobpolicy.State) { m.Written.Failed = 7 }, false},
	} {
		if got := saysMore(base(test.change), base(func(*jobpolicy.State) {})); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// Of many errors the first three are named.
func TestManyErrorsAreJoined(t *testing.T) {
	var errs []error
	for i, want := range []string{
		"<nil>", "deleting: error 0", "deleting: error 0\nerror 1", "deleting: error 0\nerror 1\nerror 2",
		"deleting: 4 errors, first: error 0\nerror 1\nerror 2",
	} {
		if got := fmt.Sprint(joined("deleting", errs)); got != want {
			t.Errorf("%d errors: %q, want %q", i, got, want)
		}
		errs = append(errs, nil, fmt.Errorf("error %d", i))
	}
}

// A plan for a Job that has changed or gone meanwhile is given up, so no status is
// written.
func TestPlanForAnOldJobIsGivenUp(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*batchv1.Job) // of the Job as the pass sees it
		want   error
		writes int
	}{
		{"the same", func(*batchv1.Job) {}, nil, 1},
		{"changed since", func(j *batchv1.Job) { j.Generation-- }, errOutdated, 0},
		{"another Job by now", func(j *batchv1.Job) { j.UID = "another" }, errGone, 0},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: "example.com/this"}}, nil)
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") })).DeepCopy()
			after(time.Minute)
			test.change(job)
			p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: job, engine: jobpolicy.Engine{ManagedBy: "example.com/other"}}
			in, err := p.observe(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			plan, err := p.plan(context.Background(), &in)
			if err != nil || len(plan.Create) != 1 {
				t.Fatalf("%+v, %v", plan, err)
			}
			err = p.carryOut(context.Background(), plan, in)
			if n := s.called("PATCH jobs/status"); !errors.Is(err, test.want) || n != test.writes {
				t.Errorf("%s: %v after %d writes of the status", test.name, err, n)
			}
		})
	}
}
