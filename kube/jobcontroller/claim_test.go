package jobcontroller

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// The Job is read once before its first adoption in a pass.
func TestAdoptionsReadTheJobOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"PATCH pods", true} // so that the pods stay to be adopted
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		for i := range 3 {
			s.addPod(orphanPod(fmt.Sprint("pod-", i), s.job("a")))
		}
		after(time.Minute)
		c.stop()
		r.refuse = false
		for _, test := range []struct {
			name           string
			hidden         finalizerExpectations
			adopted        int
			reads, patches int
		}{
			{"all hidden", finalizerExpectations{s.pods()[0].UID: {}, s.pods()[1].UID: {}, s.pods()[2].UID: {}}, 0, 0, 0},
			{"one hidden", finalizerExpectations{s.pods()[0].UID: {}}, 2, 1, 2},
			{"all", nil, 3, 1, 3},
		} {
			reads, patches := s.called("GET jobs"), s.called("PATCH pods")
			pods, err := c.claim(context.Background(), job, test.hidden)
			if reads, patches = s.called("GET jobs")-reads, s.called("PATCH pods")-patches; err != nil || len(pods) != test.adopted || reads != test.reads || patches != test.patches {
				t.Errorf("%s: %v, adopted %d with %d reads and %d patches", test.name, err, len(pods), reads, patches)
			}
		}
	})
}
