package jobpolicy_test

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"pgregory.net/rapid"
)

// The checks of a simulated Job.

// newlyEnded returns the pods whose end counts and is not decided on yet. The end of a
// released pod does not count, even if the pod still shows its finalizer.
func (s *sim) newlyEnded(in jobpolicy.Input) (pods []*batch.Pod) {
	spec := &s.Job.Spec
	for _, p := range in.Pods {
		i := jobtest.Index(p)
		inRange := spec.CompletionMode != batch.IndexedCompletion || 0 <= i && i < int(*spec.Completions)
		ended := p.Finished() || isTerminating(p) && !replacesOnlyFailed(spec)
		tracked := p.Tracked() && !slices.Contains(in.FinalizersRemoved, p.UID)
		if inRange && ended && tracked && !s.decided[p.UID] {
			pods = append(pods, p)
		}
	}
	return pods
}

// streakAfter is the streak of failures after these pods have ended. A success resets
// it, and only later failures count.
func (s *sim) streakAfter(newly []*batch.Pod) (int, time.Time) {
	n, last := s.failures, s.lastFailure
	var success, failure time.Time
	for _, p := range newly {
		if p.Status.Phase == batch.PodSucceeded {
			n, last, success = 0, time.Time{}, latest(success, p.FinishTime())
		}
	}
	for _, p := range newly {
		if t := p.FinishTime(); p.Status.Phase != batch.PodSucceeded && (success.IsZero() || t.After(success)) {
			n, failure = n+1, latest(failure, t)
		}
	}
	if !failure.IsZero() {
		last = failure
	}
	return n, last
}

func replacesOnlyFailed(s *batch.JobSpec) bool {
	return s.PodReplacementPolicy == batch.PodReplacementFailed
}

// succeededIn returns the number of succeeded pods in a status, uncounted ones
// included.
func succeededIn(s *batch.JobStatus) int {
	n := int(s.Succeeded)
	if u := s.UncountedTerminatedPods; u != nil {
		n += len(u.Succeeded)
	}
	return n
}

// check plans and compares the plan with the actual state.
func (s *sim) check() jobpolicy.Plan {
	in := s.Input()
	before := vectors.Text(in)
	plan, err := s.Engine.Plan(in)
	if err != nil {
		s.Fatalf("Plan: %v", err)
	}
	s.RequeueAfter = plan.RequeueAfter
	s.table["check: input unchanged"]++
	if after := vectors.Text(in); after != before {
		s.Fatalf("Plan changed its input:\n%s\n%s", before, after)
	}
	shuffled := in
	shuffled.Pods = rapid.Permutation(in.Pods).Draw(s.T, "order")
	again, err := s.Engine.Plan(shuffled)
	if err != nil {
		s.Fatalf("Plan: %v", err)
	}
	s.table["check: same plan for another order"]++
	if d := cmp.Diff(plan, again); d != "" {
		s.Fatalf("the plan depends on the order of the pods:\n%s", d)
	}
	if len(plan.Delete) > 0 && len(plan.Create) > 0 {
		s.Fatalf("a plan deletes and creates")
	}
	s.table["check: requeue has a reason"]++
	if (plan.RequeueAfter > 0) != (plan.RequeueReason != "") {
		s.Fatalf("again after %v because of %q", plan.RequeueAfter, plan.RequeueReason)
	}
	if in.NoPodChanges {
		s.table["check: nothing created or deleted when refused"]++
		if len(plan.Create)+len(plan.Delete) > 0 {
			s.Fatalf("creates %d and deletes %d, which is refused", len(plan.Create), len(plan.Delete))
		}
	}
	for _, r := range plan.Release {
		s.table["check: no release twice"]++
		if slices.Contains(in.FinalizersRemoved, r.UID) {
			s.Fatalf("pod %s is released again", r.Name)
		}
	}
	if len(plan.Create) > 0 {
		s.checkCreations(in, len(plan.Create))
	}
	for _, n := range plan.Create {
		s.checkCreation(n)
	}
	return plan
}

// checkCreations checks that the actual Job needs the created pods now.
func (s *sim) checkCreations(in jobpolicy.Input, n int) {
	spec, status := &s.Job.Spec, &s.Job.Status
	s.table["check: nothing created for a Job that has ended"]++
	if status.HasCondition(batch.JobFailureTarget) || status.HasCondition(batch.JobSuccessCriteriaMet) {
		s.Fatalf("%d pods are created for a Job that ends: %v", n, status.Conditions)
	}
	if spec.CompletionMode != batch.IndexedCompletion && spec.Completions != nil {
		s.table["check: nothing created beyond completions"]++
		if succeeded := succeededIn(status); succeeded+n > int(*spec.Completions) {
			s.Fatalf("%d pods are created, %d of %d have succeeded", n, succeeded, *spec.Completions)
		}
	}
	if spec.BackoffLimitPerIndex == nil && s.Engine.IgnoredDelay == jobpolicy.DelayLikeFailure && !s.jumped {
		s.table["check: nothing created before the Job's delay"]++
		if failures, last := s.streakAfter(s.newlyEnded(in)); failures > 0 {
			delay := min(10*time.Second<<min(failures-1, 10), 10*time.Minute)
			if s.Now.Before(last.Add(delay)) {
				s.Fatalf("%d pods are created at %s, %d failures in a row after the last of them at %s", n, s.Now, failures, last)
			}
		}
	}
}

// checkCreation checks that the new pod is needed and its delay has passed.
func (s *sim) checkCreation(n jobpolicy.Creation) {
	if !slices.Contains(n.Finalizers, batch.JobTrackingFinalizer) {
		s.Fatalf("pod of index %d without the tracking finalizer", n.Index)
	}
	if n.Index < 0 {
		return
	}
	ended := s.completed().Union(s.failed())
	s.table["check: no pod for an ended index"]++
	if ended.Contains(n.Index) || n.Index >= int(*s.Job.Spec.Completions) {
		s.Fatalf("a new pod for index %d, which has ended (%s)", n.Index, ended)
	}
	var last *truth
	for _, p := range s.Pods {
		if jobtest.Index(p) != n.Index {
			continue
		}
		if p.Finished() {
			continue
		}
		if p.DeletionTimestamp.IsZero() {
			s.Fatalf("a new pod for index %d, which has pod %s", n.Index, p.Name)
		}
		if replacesOnlyFailed(&s.Job.Spec) {
			s.Fatalf("a new pod for index %d, whose pod %s has not ended", n.Index, p.Name)
		}
	}
	s.table["check: no replacement while the pod terminates"]++
	counted, ignored := 0, 0
	for _, p := range s.Created {
		tr := s.truths[p.UID]
		if tr.index != n.Index || !tr.failed {
			continue
		}
		if tr.counted {
			counted++
		} else {
			ignored++
		}
		if last == nil || !tr.at.Before(last.at) {
			last = tr
		}
	}
	if s.Job.Spec.BackoffLimitPerIndex == nil || s.vanished || s.tampered {
		return
	}
	if replacesOnlyFailed(&s.Job.Spec) && !s.scaled {
		s.table["check: failure counts carried over"]++
		if got := failureCount(&batch.Pod{ObjectMeta: n.ObjectMeta}); got != counted {
			s.Fatalf("a new pod for index %d says %d failures, there were %d", n.Index, got, counted)
		}
		if last != nil && !s.jumped && s.Engine.IgnoredDelay == jobpolicy.DelayLikeFailure {
			s.table["check: no replacement before its delay"]++
			delay := 10 * time.Second << (counted + ignored - 1)
			if due := last.at.Add(min(delay, 10*time.Minute)); s.Now.Before(due) {
				s.Fatalf("a new pod for index %d at %s, due at %s", n.Index, s.Now, due)
			}
		}
	}
}

func (s *sim) completed() indexset.Set { return indexset.MustParse(s.Job.Status.CompletedIndexes) }

func (s *sim) failed() indexset.Set {
	if s.Job.Status.FailedIndexes == nil {
		return indexset.Set{}
	}
	return indexset.MustParse(*s.Job.Status.FailedIndexes)
}

// invariants checks the invariants after a step of the caller.
func (s *sim) invariants() {
	status := &s.Job.Status
	s.table["check: index in one of completed and failed"]++
	if both := s.completed().Intersect(s.failed()); !both.IsZero() {
		s.Fatalf("indexes %s are completed and failed", both)
	}
	active, perIndex := 0, map[int]int{}
	for _, p := range s.Pods {
		if !p.Finished() && p.DeletionTimestamp.IsZero() {
			active++
			perIndex[jobtest.Index(p)]++
		}
	}
	s.table["check: active at most parallelism"]++
	if active > int(*s.Job.Spec.Parallelism) && !s.scaled {
		s.Fatalf("%d active pods, parallelism is %d", active, *s.Job.Spec.Parallelism)
	}
	for i, n := range perIndex {
		s.table["check: one active pod an index"]++
		if i >= 0 && n > 1 {
			s.Fatalf("%d active pods of index %d", n, i)
		}
	}
	s.table["check: counters only rise"]++
	if status.Failed < s.last.Failed || status.Succeeded < s.last.Succeeded && !s.scaled {
		s.Fatalf("counters fell from %d, %d to %d, %d", s.last.Succeeded, s.last.Failed, status.Succeeded, status.Failed)
	}
	s.last = *status
	s.table["check: failures at most what happened"]++
	ended := 0
	for _, p := range s.Created {
		if tr := s.truths[p.UID]; tr.failed || tr.vanished {
			ended++
		}
	}
	for _, p := range s.Pods {
		if !p.DeletionTimestamp.IsZero() && !s.truths[p.UID].failed {
			ended++ // on its way, and may count already
		}
	}
	for _, tr := range s.truths {
		if tr.deleted && !tr.failed {
			ended++ // counted before it exited 0
		}
	}
	if int(status.Failed) > ended {
		s.Fatalf("%d failures counted, %d pods failed or are being deleted", status.Failed, ended)
	}
	if _, finished := status.Finished(); finished {
		s.table["check: finished only when nothing runs"]++
		for _, p := range s.Pods {
			if !p.Finished() && len(p.Finalizers) > 0 {
				s.Fatalf("the Job has finished while pod %s has not", p.Name)
			}
		}
		if u := status.UncountedTerminatedPods; len(u.Succeeded)+len(u.Failed) > 0 {
			s.Fatalf("the Job has finished with uncounted pods")
		}
	}
}

// checkEnd checks that every pod, index and Job was counted once.
func (s *sim) checkEnd() {
	status, spec := &s.Job.Status, &s.Job.Spec
	c, _ := status.Finished()
	s.table["end: "+string(c.Type)]++
	s.table["reason: "+string(c.Reason)]++

	var sum jobpolicy.MetricDeltas
	ends := 0
	for _, c := range s.Deltas {
		sum.PodsSucceeded += c.PodsSucceeded
		sum.PodsFailed += c.PodsFailed
		sum.IndexesSucceeded += c.IndexesSucceeded
		sum.IndexesFailed += c.IndexesFailed
		if c.Finished != "" {
			ends++
		}
	}
	s.table["check: counts sum up to the status"]++
	if ends != 1 || sum.PodsFailed != int(status.Failed) {
		s.Fatalf("counted %d ends and %d failed pods, the status has %d", ends, sum.PodsFailed, status.Failed)
	}
	if !s.scaled {
		want := [3]int{int(status.Succeeded), 0, 0}
		if spec.CompletionMode == batch.IndexedCompletion {
			want[1], want[2] = s.completed().Len(), s.failed().Len()
		}
		if got := [3]int{sum.PodsSucceeded, sum.IndexesSucceeded, sum.IndexesFailed}; got != want {
			s.Fatalf("counted %v succeeded pods, succeeded and failed indexes, the status has %v", got, want)
		}
	}
	if err := (&batch.Job{Spec: *spec, Status: *status}).ValidateStatus(); err != nil {
		s.Fatalf("the final status is invalid: %v", err)
	}
	if spec.CompletionMode != batch.IndexedCompletion {
		return
	}
	if c.Reason == batch.JobReasonCompletionsReached || c.Reason == batch.JobReasonFailedIndexes {
		s.table["check: every index ended once"]++
		all := indexset.FromRange(0, int(*spec.Completions)-1)
		if ended := s.completed().Union(s.failed()); !ended.Equal(all) && !s.scaled {
			s.Fatalf("%s, but of %s only %s have ended", c.Reason, all, ended)
		}
	}
	if limit := spec.BackoffLimitPerIndex; limit != nil && replacesOnlyFailed(spec) && !s.vanished && !s.tampered && !s.scaled {
		failures := map[int]int{}
		for _, p := range s.Created {
			if tr := s.truths[p.UID]; tr.counted {
				failures[tr.index]++
			}
		}
		for i, n := range failures {
			s.table["check: at most limit+1 failures an index"]++
			if n > int(*limit)+1 {
				s.Fatalf("index %d failed %d times, its limit is %d", i, n, *limit)
			}
		}
	}
}
