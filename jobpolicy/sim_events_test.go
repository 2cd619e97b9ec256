package jobpolicy

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// What happens to a simulated Job between two plans.

// some returns a pod that has the property, if there is one.
func (s *sim) some(label string, has func(*batch.Pod) bool) *batch.Pod {
	var list []*batch.Pod
	for _, p := range s.pods {
		if has(p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(s.T, label)
}

func isActive(p *batch.Pod) bool      { return !p.Finished() && p.DeletionTimestamp.IsZero() }
func isTerminating(p *batch.Pod) bool { return !p.Finished() && !p.DeletionTimestamp.IsZero() }

func (s *sim) start() {
	if p := s.some("pod", func(p *batch.Pod) bool { return isActive(p) && p.Status.Phase == batch.PodPending }); p != nil {
		s.run(p.UID)
	}
}

func (s *sim) exit(code int32) {
	if p := s.some("pod", isActive); p != nil {
		s.finish(p.UID, code)
	}
}

// finish ends a pod, and keeps what is true of it.
func (s *sim) finish(uid string, code int32) {
	phase := batch.PodFailed
	if code == 0 {
		phase = batch.PodSucceeded
	}
	tr := s.truths[uid]
	tr.failed, tr.at = code != 0, s.now
	tr.deleted = slices.ContainsFunc(s.pods, func(p *batch.Pod) bool { return p.UID == uid && isTerminating(p) })
	s.change(uid, func(p *batch.Pod) { // while it can still be seen
		q := *p
		q.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "main", State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}}}}
		tr.counted = tr.failed && MatchPod(s.job.Spec.PodFailurePolicy, &q).Counted()
	})
	s.end(uid, phase, code)
}

func (s *sim) evict() {
	if p := s.some("pod", isActive); p != nil {
		s.table["fault: pod evicted"]++
		s.change(p.UID, func(p *batch.Pod) {
			p.DeletionTimestamp = s.now
			setPodCondition(p, batch.DisruptionTarget, batch.ConditionTrue, batch.PodReasonEvictionByEvictionAPI, s.now)
		})
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
		tr.failed, tr.counted, tr.at = true, MatchPod(s.job.Spec.PodFailurePolicy, p).Counted(), s.now
		s.change(p.UID, func(p *batch.Pod) {
			p.Status.Phase = batch.PodFailed
			setPodCondition(p, batch.PodReady, batch.ConditionFalse, "", s.now)
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

// wait lets time pass: what the plan asked for, or a jump.
func (s *sim) wait() {
	if s.chance("jump", 12) {
		s.table["fault: clock steps"]++
		s.jumped = true
		s.now = s.now.Add(time.Duration(rapid.IntRange(-24, 24).Draw(s.T, "hours")) * time.Hour)
		return
	}
	s.now = s.now.Add(max(s.requeue, time.Duration(rapid.IntRange(1, 30).Draw(s.T, "seconds"))*time.Second))
}

// oddities are what should not happen and does.
func (s *sim) oddities() {
	p := s.some("pod", isActive)
	if p == nil {
		return
	}
	switch rapid.IntRange(0, 4).Draw(s.T, "oddity") {
	case 0:
		s.table["fault: pod vanishes"]++
		s.vanished = true
		s.truths[p.UID].vanished = true
		s.pods = slices.DeleteFunc(s.pods, func(q *batch.Pod) bool { return q.UID == p.UID })
	case 1:
		s.table["fault: annotation overwritten"]++
		s.tampered = true
		s.change(p.UID, func(p *batch.Pod) {
			p.Annotations = maps.Clone(p.Annotations)
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations[batch.JobIndexFailureCountAnnotation] = rapid.SampledFrom([]string{"", "-1", "x", "99999999999"}).Draw(s.T, "text")
		})
	case 2:
		s.table["fault: pod listed twice"]++
		in := s.input()
		want, err := s.engine.Plan(in)
		if err != nil {
			s.Fatal(err)
		}
		in.Pods = append(slices.Clone(in.Pods), p)
		got, err := s.engine.Plan(in)
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
		s.change(p.UID, func(p *batch.Pod) { p.DeletionTimestamp = s.now })
	case 4:
		s.table["fault: sidecar never ends"]++
		s.change(p.UID, func(p *batch.Pod) {
			p.Spec.InitContainers = []batch.Container{{Name: "side", RestartPolicy: batch.RestartPolicyAlways}}
			p.Status.InitContainerStatuses = []batch.ContainerStatus{{Name: "side", State: batch.ContainerState{Running: &batch.ContainerStateRunning{}}}}
		})
	}
}

// steer is the user: suspend, resume, scale.
func (s *sim) steer() {
	job := *s.job
	s.job = &job
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
