package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// errOther stands for any other error.
var errOther = errors.New("any other error")

// A status write ends by its answer or, without one, by what the Job shows.
func TestAnswersOfAStatusWrite(t *testing.T) {
	timeout := apierrors.NewTimeoutError("the API server is slow", 1)
	for _, test := range []struct {
		name    string
		change  func(s *apiServer) // of the stored Job since
		patch   error              // the answer, instead of carrying it out
		lost    bool               // it is carried out without an answer
		get     error              // the answer to reading the Job
		want    error              // wrapped
		reads   int                // answered
		written bool               // the status counts as written
		open    bool               // whether it was written stays open
		outcome string             // of the metric, with an Event and a pass after 10s
	}{
		{"written", nil, nil, false, nil, nil, 0, true, false, ""},
		{"refused", nil, forbidden("no right to"), false, nil, errOther, 0, false, false, "refused"},
		{"carried out without an answer", nil, nil, true, nil, nil, 1, true, false, ""},
		{"not carried out, without an answer", nil, timeout, false, nil, errOther, 1, false, false, "unanswered"},
		{"without an answer, and the stored Job has the status alone", func(s *apiServer) { s.changeJob("a", func(j *batchv1.Job) { j.Status.Active = 1 }) }, timeout, false, nil, errOther, 1, false, false, "unanswered"},
		{"without an answer, and not to be read", nil, nil, true, forbidden("no right to"), errOther, 0, false, true, "unanswered"},
		{"without an answer, and the Job is gone", func(s *apiServer) { s.changeJob("a", func(j *batchv1.Job) { j.UID = "another" }) }, timeout, false, nil, errGone, 1, false, true, ""},
		{"the Job has changed", func(s *apiServer) { s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"x": "y"} }) }, nil, false, nil, errOutdated, 1, false, false, ""},
		{"the Job has changed, and is not to be read", func(s *apiServer) { s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"x": "y"} }) }, nil, false, forbidden("no right to"), errOther, 0, false, true, ""},
		{"another Job of its name", func(s *apiServer) { s.changeJob("a", func(j *batchv1.Job) { j.UID = "another" }) }, nil, false, nil, errGone, 1, false, true, ""},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: "example.com/this"}}, &faults{hook: func(_ context.Context, call string) (error, bool) {
				switch call {
				case "PATCH jobs/status":
					return test.patch, test.lost
				case "GET jobs":
					return test.get, false
				}
				return nil, false
			}})
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") })).DeepCopy()
			after(time.Minute)
			c.stop()
			if test.change != nil {
				test.change(s)
			}
			queue, events := &recordingQueue{}, record.NewFakeRecorder(9)
			c.queue, c.events = queue, events
			p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: job}
			reads := s.called("GET jobs")
			err := p.write(context.Background(), &batch.JobStatus{Active: 1}, jobpolicy.State{Job: string(job.UID), Failures: 1}, jobpolicy.MetricDeltas{})
			other := test.want == errOther
			if (err == nil) != (test.want == nil) || !other && !errors.Is(err, test.want) || other && (errors.Is(err, errGone) || errors.Is(err, errOutdated)) {
				t.Errorf("%s: %v", test.name, err)
			}
			if test.get != nil && !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v does not say why the Job was not read", test.name, err)
			}
			if n := s.called("GET jobs") - reads; n != test.reads {
				t.Errorf("%s: %d reads", test.name, n)
			}
			if written := p.record.state.Failures == 1 && p.job.Status.Active == 1; written != test.written || (p.record.unacknowledged.write != nil) != test.open {
				t.Errorf("%s: written %v, open %v", test.name, written, p.record.unacknowledged.write != nil)
			}
			wantQueue, wantEvents := "[]", 0
			if test.outcome != "" {
				wantQueue, wantEvents = "[ns/a after 10s]", 1
			}
			if got := fmt.Sprint(queue.keys); got != wantQueue || len(events.Events) != wantEvents {
				t.Errorf("%s: queued %s, %d Events", test.name, got, len(events.Events))
			}
			got := ""
			for name, n := range counted(t, c.Metrics()) {
				if outcome, ok := strings.CutPrefix(name, "restart_job_status_write_failures_total "); ok && n == 1 {
					got = outcome
				}
			}
			if got != test.outcome {
				t.Errorf("%s: counted as %q, want %q", test.name, got, test.outcome)
			}
		})
	}
}

// A deletion ends by its answer. It is sent again after none.
func TestAnswersOfADeletion(t *testing.T) {
	timeout := apierrors.NewTimeoutError("the API server is slow", 1)
	gone := func(s *apiServer) {
		s.changePod("pod", func(p *corev1.Pod) { p.Finalizers, p.Annotations = nil, map[string]string{removable: "yes"} })
	}
	for _, test := range []struct {
		name            string
		untrack         bool
		change          func(s *apiServer) // of the stored pod since
		answer          map[string]error   // to a call, instead of carrying it out
		lost            string             // the call that is carried out without an answer
		err             string
		hidden, deleted bool // what the pass expects to see
		again           bool
		event           string
	}{
		{"deleted", false, nil, nil, "", "", false, true, false, "SuccessfulDelete"},
		{"deleted without its finalizer", true, nil, nil, "", "", true, true, false, "SuccessfulDelete"},
		{"gone", false, gone, nil, "", "", false, true, false, ""},
		{"gone with its finalizer", true, gone, nil, "", "", true, true, false, ""},
		{"another pod of its name", false, func(s *apiServer) { s.changePod("pod", func(p *corev1.Pod) { p.UID = "another" }) }, nil, "", "", false, true, false, ""},
		{"refused", false, nil, map[string]error{"DELETE pods": forbidden("no right to")}, "", "deleting: pod pod: ", false, false, false, "FailedDelete"},
		{"the finalizer is not removed", true, nil, map[string]error{"PATCH pods": forbidden("no right to")}, "", "deleting: pod pod: patching", false, false, false, "FailedDelete"},
		{"refused without its finalizer", true, nil, map[string]error{"DELETE pods": forbidden("no right to")}, "", "deleting: pod pod: ", true, false, false, "FailedDelete"},
		{"no answer", false, nil, map[string]error{"DELETE pods": timeout}, "", "deleting: pod pod: ", false, false, true, "FailedDelete"},
		{"carried out without an answer", false, nil, nil, "DELETE pods", "deleting: pod pod: ", false, false, true, "FailedDelete"},
		{"the finalizer is removed without an answer", true, nil, nil, "PATCH pods", "deleting: pod pod: patching", false, false, true, "FailedDelete"},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
				return test.answer[call], call == test.lost
			}})
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
			after(time.Minute)
			c.stop()
			uid := addPodOf(s, "pod").UID
			if test.change != nil {
				test.change(s)
			}
			events := record.NewFakeRecorder(9)
			c.events = events
			p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: job}
			err := p.delete(context.Background(), []jobpolicy.Deletion{{PodRef: jobpolicy.PodRef{Name: "pod", UID: string(uid)}, Untrack: test.untrack}})
			if got := fmt.Sprint(err); (err == nil) != (test.err == "") || err != nil && !strings.HasPrefix(got, test.err) {
				t.Errorf("%s: %s", test.name, got)
			}
			_, deleted := p.record.expectations.deleted[uid]
			_, since := p.record.unacknowledged.since[string(uid)]
			if p.record.finalizers.has(uid) != test.hidden || deleted != test.deleted || len(p.record.unacknowledged.deletions) == 1 != test.again || since != test.again {
				t.Errorf("%s: hidden %v, expected to be deleted %v, again %v since %v", test.name, p.record.finalizers, deleted, p.record.unacknowledged.deletions, p.record.unacknowledged.since)
			}
			got := ""
			if len(events.Events) > 0 {
				got = strings.Fields(<-events.Events)[1]
			}
			if got != test.event {
				t.Errorf("%s: Event %q", test.name, got)
			}
		})
	}
}

// A creation ends by its answer. After none, its pod may still come.
func TestAnswersOfACreation(t *testing.T) {
	for _, test := range []struct {
		name    string
		answer  error // instead of carrying it out
		lost    bool  // it is carried out without an answer
		created int   // pods expected to be seen
		lose    int   // creations without an answer
		event   string
	}{
		{"created", nil, false, 3, 0, "SuccessfulCreate"},
		{"refused", forbidden("no quota for"), false, 0, 0, "FailedCreate"},
		{"a broken webhook", errWebhook, false, 0, 0, "FailedCreate"},
		{"no answer", apierrors.NewTimeoutError("the API server is slow", 1), false, 0, 1, "FailedCreate"},
		{"carried out without an answer", nil, true, 0, 1, "FailedCreate"},
		{"the namespace is being deleted", terminating(), false, 0, 0, ""},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
				if call != "POST pods" {
					return nil, false
				}
				return test.answer, test.lost
			}})
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
			after(time.Minute)
			c.stop()
			events := record.NewFakeRecorder(9)
			c.events = events
			p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: job}
			wanted := make([]jobpolicy.Creation, 3)
			for i := range wanted {
				wanted[i] = jobpolicy.Creation{Index: -1, ObjectMeta: batch.ObjectMeta{Namespace: "ns", GenerateName: "a-"}}
			}
			err := p.create(context.Background(), wanted)
			if (err == nil) != (test.created == 3) || terminatingNamespace(err) != (test.event == "") {
				t.Errorf("%s: %v", test.name, err)
			}
			if created, lost := p.record.expectations.created, p.record.unacknowledged.creations; len(created) != test.created || len(lost) != test.lose {
				t.Errorf("%s: created %v, lost %v", test.name, created, lost)
			}
			sent, got := max(test.created, 1), ""
			n := len(events.Events)
			if n > 0 {
				got = strings.Fields(<-events.Events)[1]
			}
			if got != test.event || n > 0 && n != sent {
				t.Errorf("%s: %d Events, %q", test.name, n, got)
			}
			counts := counted(t, c.Metrics())
			const name = "restart_job_pods_creation_total new "
			if ok, bad := counts[name+succeeded], counts[name+failed]; ok != float64(test.created) || ok+bad != float64(sent) {
				t.Errorf("%s: %v", test.name, counts)
			}
		})
	}
}
