package jobcontroller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/restartkit/restart/jobpolicy"
)

// After three failures in a row, the fourth attempt comes 40 s after the third failure,
// even if another controller has taken over in between.
func TestMemorySurvivesAChangeOfLeader(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		first := start(t, s, Options{}, nil)
		s.createJob(newJob("a", nil))
		for _, delay := range []time.Duration{10, 20} {
			after(2 * time.Second)
			endAll(s, 1)
			after(delay*time.Second + 2*time.Second)
		}
		endAll(s, 1)
		third := time.Now()
		after(5 * time.Second)
		first.stop()
		if got := s.called("POST pods"); got != 3 {
			t.Fatalf("%d attempts", got)
		}
		start(t, s, Options{}, nil)
		after(time.Until(third.Add(39 * time.Second)))
		if got := s.called("POST pods"); got != 3 {
			t.Errorf("%d attempts before the delay is over", got)
		}
		after(5 * time.Second)
		if got := s.called("POST pods"); got != 4 {
			t.Errorf("%d attempts after the delay", got)
		}
	})
}

func TestBadAnnotationsAreReportedOnceAndLeftOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Annotations = map[string]string{
				AnnotationBaseDelay: "soon", AnnotationSkipWaiting: "maybe", AnnotationMaxDelay: "15s", "restartkit.dev/skip-wating": "true",
			}
		}))
		after(2 * time.Second)
		for i, want := range []time.Duration{10 * time.Second, 15 * time.Second, 15 * time.Second} {
			endAll(s, 1)
			after(want - time.Second)
			if n := s.called("POST pods"); n != i+1 {
				t.Errorf("%d attempts before delay %d is over", n, i+1)
			}
			after(4 * time.Second)
			if n := s.called("POST pods"); n != i+2 {
				t.Errorf("%d attempts after delay %d", n, i+1)
			}
		}
		if n := s.eventReasons()["InvalidAnnotation"]; n != 3 {
			t.Errorf("%d Events about three bad annotations", n)
		}
	})
}

func TestAnnotationSetsTheDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Annotations = map[string]string{AnnotationBaseDelay: "3m"} }))
		after(2 * time.Second)
		endAll(s, 1)
		after(3*time.Minute - time.Second)
		if n := s.called("POST pods"); n != 1 {
			t.Errorf("%d attempts before the delay is over", n)
		}
		after(5 * time.Second)
		if n := s.called("POST pods"); n != 2 {
			t.Errorf("%d attempts after the delay", n)
		}
	})
}

func TestJobsOfOthersAreLeftAlone(t *testing.T) {
	for _, test := range []struct{ ours, its string }{
		{DefaultManagedBy, BuiltInManagedBy}, {DefaultManagedBy, "example.com/other"}, {BuiltInManagedBy, DefaultManagedBy}, {BuiltInManagedBy, "example.com/other"},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: test.ours}}, nil)
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = &test.its }))
			after(time.Minute)
			if n := s.called("POST pods") + s.called("PATCH jobs/status"); n > 0 {
				t.Errorf("%+v: %d writes", test, n)
			}
		})
	}
}

func TestBuiltInControllersJobsCanBeTakenOver(t *testing.T) {
	for _, by := range []*string{nil, new(BuiltInManagedBy)} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: BuiltInManagedBy}}, nil)
			s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = new("") }))
			s.changeJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = by })
			after(time.Minute)
			if n := s.called("POST pods"); n != 1 {
				t.Errorf("%d pods", n)
			}
		})
	}
}
