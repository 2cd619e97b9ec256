package jobpolicy_test

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"pgregory.net/rapid"
)

// What happens to a simulated Job between two plans.

// some returns a pod with the property, or nil.
func (s *sim) some(label string, has func(*batch.Pod) bool) *batch.Pod {
	var list []*batch.Pod
	for _, p := range s.Pods {
		if has(p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(s.T, label)
}

func isTerminating(p *batch.Pod) bool { return !p.Finished() && !p.DeletionTimestamp.IsZero() }

func (s *sim) start() {
	if p := s.some("pod", func(p *batch.Pod) bool { return jobtest.Active(p) && p.Status.Phase == batch.PodPending }); p != nil {
		s.Start(p.UID)
	}
}

func (s *sim) exit(code int32) {
	if p := s.some("pod", jobtest.Active); p != nil {
		s.finish(p.UID, code)
	}
}

// finish ends a pod and records the truth about it.
func (s *sim) finish(uid string, code int32) {
	tr := s.truths[uid]
	tr.failed, tr.at = code != 0, s.Now
	tr.deleted = slices.ContainsFunc(s.Pods, func(p *batch.Pod) bool { return p.UID == uid && isTerminating(p) })
	s.Change(uid, func(p *batch.Pod) { // while it can still be seen
		q := *p
		q.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "main", State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}}}}
		tr.counted = tr.failed && jobpolicy.MatchPod(s.Job.Spec.PodFailurePolicy, &q).Counted()
	})
	s.Exit(uid, code)
}

func (s *sim) evict() {
	if p := s.some("pod", jobtest.Active); p != nil {
		s.table["fault: pod evicted"]++
		s.Evict(p.UID)
	}
}

// terminate ends a pod that is being deleted.
func (s *sim) terminate() {
	p := s.some("pod", isTerminating)
	if p == nil {
		return
	}
	if s.chance("without statuses", 4) {
		s.table["fault: pod ends without container statuses"]++
		tr := s.truths[p.UID]
		tr.failed, tr.counted, tr.at = true, jobpolicy.MatchPod(s.Job.Spec.PodFailurePolicy, p).Counted(), s.Now
		s.Change(p.UID, func(p *batch.Pod) {
			p.Status.Phase = batch.PodFailed
			jobtest.SetCondition(p, batch.PodReady, batch.ConditionFalse, "", s.Now)
		})
		return
	}
	if s.chance("exits 0", 6) {
		s.table["fault: pod exits 0 although it was deleted"]++
		s.finish(p.UID, 0)
		return
	}
	s.finish(p.UID, 143)
}

// wait advances the clock by RequeueAfter or by a jump.
func (s *sim) wait() {
	if s.chance("jump", 12) {
		s.table["fault: clock steps"]++
		s.jumped = true
		s.Now = s.Now.Add(time.Duration(rapid.IntRange(-24, 24).Draw(s.T, "hours")) * time.Hour)
		return
	}
	s.Now = s.Now.Add(max(s.RequeueAfter, time.Duration(rapid.IntRange(1, 30).Draw(s.T, "seconds"))*time.Second))
}

// oddities are events that should not happen but do.
func (s *sim) oddities() {
	p := s.some("pod", jobtest.Active)
	if p == nil {
		return
	}
	switch rapid.IntRange(0, 4).Draw(s.T, "oddity") {
	case 0:
		s.table["fault: pod vanishes"]++
		s.vanished = true
		s.truths[p.UID].vanished = true
		s.Pods = slices.DeleteFunc(s.Pods, func(q *batch.Pod) bool { return q.UID == p.UID })
	case 1:
		s.table["fault: annotation overwritten"]++
		s.tampered = true
		s.Change(p.UID, func(p *batch.Pod) {
			p.Annotations = maps.Clone(p.Annotations)
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations[batch.JobIndexFailureCountAnnotation] = rapid.SampledFrom([]string{"", "-1", "x", "99999999999"}).Draw(s.T, "text")
		})
	case 2:
		s.table["fault: pod listed twice"]++
		in := s.Input()
		want, err := s.Engine.Plan(in)
		if err != nil {
			s.Fatal(err)
		}
		in.Pods = append(slices.Clone(in.Pods), p)
		got, err := s.Engine.Plan(in)
		if err != nil {
			s.Fatal(err)
		}
		want.Notes, got.Notes = nil, nil
		if slices.Contains(in.Pods[:len(in.Pods)-1], p) {
			if d := cmp.Diff(want, got); d != "" {
				s.Fatalf("a pod that is listed twice changes the plan:\n%s", d)
			}
		}
	case 3:
		s.table["fault: pod stuck terminating"]++ // until the faults are over
		s.Change(p.UID, func(p *batch.Pod) { p.DeletionTimestamp = s.Now })
	case 4:
		s.table["fault: sidecar never ends"]++
		s.Change(p.UID, func(p *batch.Pod) {
			p.Spec.InitContainers = []batch.Container{{Name: "side", RestartPolicy: batch.RestartPolicyAlways}}
			p.Status.InitContainerStatuses = []batch.ContainerStatus{{Name: "side", State: batch.ContainerState{Running: &batch.ContainerStateRunning{}}}}
		})
	}
}

// steer acts as the user, who suspends, resumes and scales.
func (s *sim) steer() {
	job := *s.Job
	s.Job = &job
	spec := &job.Spec
	if s.chance("scale", 2) && spec.CompletionMode == batch.IndexedCompletion && spec.SuccessPolicy == nil && spec.MaxFailedIndexes == nil {
		s.table["fault: job scaled"]++
		s.scaled = true
		n := s.number("size", 1, 6)
		spec.Completions, spec.Parallelism = n, n
		return
	}
	spec.Suspend = !spec.Suspend
	if spec.Suspend {
		s.table["fault: job suspended"]++
		s.scaled = true // pods that it stops are not counted
	} else {
		s.table["fault: job resumed"]++
	}
}
