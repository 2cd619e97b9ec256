package jobcontroller

import (
	"flag"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

var verbose = flag.Bool("jobcontroller.log", false, "show the controller's log")

func TestJobComesToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = ptr[int32](3) }))
		for range 3 {
			after(3 * time.Second)
			for _, p := range s.pods() {
				if !ended(p) {
					s.end(p.Name, 0)
				}
			}
		}
		after(5 * time.Second)
		job := s.job("a")
		if !finished(job) || job.Status.Succeeded != 3 {
			t.Errorf("%+v", job.Status)
		}
		t.Log(s.calls, s.eventReasons())
		if n := c.states.len(); n != 0 {
			t.Errorf("%d states are left", n)
		}
		c.stop()
	})
}
