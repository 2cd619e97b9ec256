package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"pgregory.net/rapid"
)

// A simulated Job is a random specification whose pods start late, fail, succeed, are
// evicted, vanish and get stuck, while the caller crashes between effects, has some
// refused, sees its own creations, releases and status writes late, and has a clock
// that jumps. After some time the faults end, every further pod succeeds, and the Job
// must finish. Each of -rapid.checks simulates several Jobs.

// simTable counts the faults injected and the checks made over all Jobs of a test.
type simTable map[string]int

func (s simTable) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "\n  %-44s %9d", name, s[name])
	}
	return b.String()
}

// lacks returns the rows that are zero.
func (s simTable) lacks() (names []string) {
	for name, n := range s {
		if n == 0 {
			names = append(names, name)
		}
	}
	return names
}

func TestSimulatedJobs(t *testing.T) {
	table := simTable{}
	for _, name := range simNames {
		table[name] = 0
	}
	const jobs = 4 // in each check
	rapid.Check(t, func(t *rapid.T) {
		for range jobs {
			s := newSim(t, table)
			s.trouble()
			s.settle()
			s.checkEnd()
		}
	})
	t.Log(table)
	if rapidseed.Fixed() {
		for _, name := range table.lacks() {
			t.Errorf("%s: not once", name)
		}
	}
}

// simNames are the rows of the table that must not be empty.
var simNames = []string{
	"fault: caller crashes between effects", "fault: creations seen late", "fault: clock steps", "fault: pod evicted",
	"fault: creations or deletions refused", "fault: releases seen late", "fault: Job seen late", "fault: write conflicts",
	"fault: pod exits 0 although it was deleted",
	"fault: pod vanishes", "fault: pod stuck terminating", "fault: pod ends without container statuses", "fault: sidecar never ends",
	"fault: annotation overwritten", "fault: pod listed twice", "fault: job suspended", "fault: job resumed", "fault: job scaled",
	"check: index in one of completed and failed", "check: same plan for another order", "check: input unchanged",
	"check: active at most parallelism", "check: one active pod an index", "check: no pod for an ended index",
	"check: no replacement while the pod terminates", "check: no replacement before its delay", "check: failure counts carried over",
	"check: nothing created before the Job's delay", "check: nothing created for a Job that has ended",
	"check: nothing created beyond completions", "check: every end decided once", "check: no release twice",
	"check: nothing created or deleted when refused", "check: requeue has a reason",
	"check: counters only rise", "check: failures at most what happened", "check: at most limit+1 failures an index",
	"check: finished only when nothing runs", "check: Job ends", "check: counts sum up to the status", "check: every index ended once",
	"end: Complete", "end: Failed", "reason: PodFailurePolicy", "reason: BackoffLimitExceeded", "reason: DeadlineExceeded",
	"reason: MaxFailedIndexesExceeded", "reason: FailedIndexes", "reason: SuccessPolicy", "reason: CompletionsReached",
}

// truth is the actual history of a pod, which the controller may not have seen.
type truth struct {
	index    int
	failed   bool // ended, and not well
	counted  bool
	vanished bool
	deleted  bool // was being deleted before it ended, and may count as failed
	at       time.Time
}

type sim struct {
	*jobtest.Cluster
	*rapid.T
	table  simTable
	truths map[string]*truth // by UID

	decided     map[string]bool // pods whose end was decided and kept
	failures    int             // the streak that delays the Job
	lastFailure time.Time

	jumped, vanished, tampered, scaled bool
	last                               batch.JobStatus
}

func (s *sim) chance(label string, oneIn int) bool {
	return rapid.IntRange(1, oneIn).Draw(s.T, label) == 1
}

func (s *sim) number(label string, first, last int) *int32 {
	return pointerTo(int32(rapid.IntRange(first, last).Draw(s.T, label)))
}

func newSim(t *rapid.T, table simTable) *sim {
	s := &sim{T: t, table: table, truths: map[string]*truth{}, decided: map[string]bool{}}
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "sim", Namespace: "ns", UID: "job"}}
	spec := &job.Spec
	spec.Parallelism = s.number("parallelism", 1, 4)
	spec.Completions = s.number("completions", 1, 6)
	spec.Template.Spec.Containers = []batch.Container{{Name: "main"}}
	spec.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	if rapid.Bool().Draw(t, "limited") {
		spec.BackoffLimit = s.number("backoffLimit", 0, 6)
	}
	if s.chance("nonindexed", 3) {
		if s.chance("work queue", 2) {
			spec.Completions = nil
		}
	} else {
		spec.CompletionMode = batch.IndexedCompletion
		if !s.chance("global", 3) {
			spec.BackoffLimitPerIndex = s.number("limit per index", 0, 3)
			if s.chance("few failed", 2) {
				spec.MaxFailedIndexes = s.number("maxFailedIndexes", 0, 1)
			}
		}
		if s.chance("success policy", 4) {
			spec.SuccessPolicy = &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededCount: s.number("count", 1, int(*spec.Completions))}}}
		}
	}
	if rapid.Bool().Draw(t, "policy") {
		spec.PodFailurePolicy = s.policy(spec.BackoffLimitPerIndex != nil)
	} else if s.chance("replace failed only", 2) {
		spec.PodReplacementPolicy = batch.PodReplacementFailed
	}
	if s.chance("deadline", 6) {
		spec.ActiveDeadlineSeconds = pointerTo(int64(rapid.IntRange(1, 200).Draw(t, "seconds")))
	}
	if err := func() error { d := *spec; d.Default(); return d.Validate() }(); err != nil {
		t.Fatalf("the simulated Job is invalid: %v", err)
	}
	s.Cluster = jobtest.New(job)
	s.Engine = jobpolicy.Engine{
		StartReadyIndexes: s.chance("skip waiting", 3),
		IgnoredDelay:      jobpolicy.IgnoredDelay(rapid.IntRange(0, 2).Draw(t, "ignored delay")),
	}
	return s
}

func (s *sim) policy(perIndex bool) *batch.PodFailurePolicy {
	p := &batch.PodFailurePolicy{}
	actions := []batch.Action{batch.ActionIgnore, batch.ActionCount, batch.ActionIgnore, batch.ActionFailJob}
	if perIndex {
		actions = append(actions, batch.ActionFailIndex)
	}
	for range rapid.IntRange(1, 3).Draw(s.T, "rules") {
		rule := batch.PodFailurePolicyRule{Action: rapid.SampledFrom(actions).Draw(s.T, "action")}
		if s.chance("on condition", 3) {
			rule.OnPodConditions = []batch.OnPodCondition{{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}}
		} else {
			rule.OnExitCodes = &batch.OnExitCodes{
				Operator: batch.OpIn,
				Values:   []int32{int32(rapid.IntRange(1, 4).Draw(s.T, "code"))},
			}
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

// trouble is the phase with faults.
func (s *sim) trouble() {
	for range rapid.IntRange(3, 60).Draw(s.T, "steps") {
		if _, finished := s.Job.Status.Finished(); finished {
			return
		}
		switch rapid.IntRange(0, 29).Draw(s.T, "what") {
		case 0, 1, 2, 3, 4, 5, 6, 7:
			s.sync(false)
		case 8, 9:
			s.sync(true)
		case 10, 11, 12, 13, 14:
			s.wait()
		case 15, 16, 17:
			s.start()
		case 18, 19, 20, 21, 22, 23:
			s.exit(int32(rapid.IntRange(0, 5).Draw(s.T, "exit code")))
		case 24, 25:
			s.evict()
		case 26:
			s.terminate()
		case 27, 28:
			s.oddities()
		case 29:
			s.steer()
		}
	}
}

// sync plans and carries out the plan, or only a part if the caller crashes or a write
// conflicts.
func (s *sim) sync(crash bool) {
	plan := s.check()
	if n := len(plan.Delete) + len(plan.Create); n > 0 && s.chance("refused", 8) {
		s.table["fault: creations or deletions refused"]++
		known := len(s.Created)
		s.carry(plan, rapid.IntRange(0, n-1).Draw(s.T, "not refused"))
		if made := s.Created[known:]; rapid.Bool().Draw(s.T, "seen late") {
			s.Faults.Unseen = append(slices.Clone(s.Faults.Unseen), made...)
		}
		s.Faults.Refuse = true
		plan = s.check()
		s.Faults.Refuse = false
	}
	n := jobtest.Effects(plan)
	if crash && n > 0 {
		s.table["fault: caller crashes between effects"]++
		n = rapid.IntRange(0, n-1).Draw(s.T, "effects")
	}
	before, known, pods := s.Job.Status, len(s.Created), slices.Clone(s.Pods)
	if s.Faults.Status != nil && (plan.InterimStatus != nil || plan.FinalStatus != nil) {
		s.table["fault: write conflicts"]++
	}
	s.carry(plan, n)
	s.Faults = jobtest.Faults{}
	if made := s.Created[known:]; len(made) > 0 && s.chance("seen late", 4) {
		s.table["fault: creations seen late"]++
		s.Faults.Unseen = made
	}
	if vectors.Text(before) != vectors.Text(s.Job.Status) && s.chance("Job seen late", 4) {
		s.table["fault: Job seen late"]++
		s.Faults.Status = &before
	}
	if len(plan.Release) > 0 && s.chance("releases seen late", 4) {
		s.table["fault: releases seen late"]++
		s.Faults.Named = rapid.Bool().Draw(s.T, "named")
		s.Faults.Pods = slices.DeleteFunc(pods, func(p *batch.Pod) bool {
			return !slices.Contains(plan.Release, jobpolicy.PodRef{Name: p.Name, UID: p.UID}) || s.tracked(p.UID)
		})
	}
	s.invariants()
	if _, finished := s.Job.Status.Finished(); finished && s.Faults.Status != nil {
		if plan := s.check(); len(plan.Create)+len(plan.Delete) > 0 {
			s.Fatalf("the Job has finished, and an older view of it creates and deletes: %+v", plan)
		}
	}
}

// carry performs the plan's first n effects and, once its State is kept, checks its
// decisions.
func (s *sim) carry(plan jobpolicy.Plan, n int) {
	before, kept := len(s.Created), len(s.Deltas)
	newly := s.newlyEnded(s.Input())
	s.CarryOut(plan, n)
	for _, p := range s.Created[before:] {
		s.truths[p.UID] = &truth{index: jobtest.Index(p)}
	}
	if len(s.Deltas) == kept || plan.RequeueReason == jobpolicy.RequeueStaleJob {
		return
	}
	s.table["check: every end decided once"]++
	var want, got []string
	for _, p := range newly {
		want = append(want, p.UID)
		s.decided[p.UID] = true
	}
	for _, d := range plan.Decisions {
		got = append(got, d.UID)
		if d.Untracked {
			s.Fatalf("pod %s has a finalizer and is decided on as untracked", d.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		s.Fatalf("decided on %v, newly ended are %v", got, want)
	}
	s.failures, s.lastFailure = s.streakAfter(newly)
	if plan.InterimStatus != nil { // of what still runs when the Job fails nothing else is said
		for _, uid := range plan.InterimStatus.UncountedTerminatedPods.Failed {
			s.decided[uid] = true
		}
	}
}

// tracked reports whether the pod exists with its finalizer.
func (s *sim) tracked(uid string) bool {
	return slices.ContainsFunc(s.Pods, func(p *batch.Pod) bool { return p.UID == uid && p.Tracked() })
}

// settle ends the faults and lets all pods succeed until the Job ends.
func (s *sim) settle() {
	job := *s.Job
	job.Spec.Suspend = false
	s.Job = &job
	for range 2000 {
		if _, finished := s.Job.Status.Finished(); finished {
			s.table["check: Job ends"]++
			return
		}
		s.Faults = jobtest.Faults{}
		plan := s.check()
		s.carry(plan, jobtest.Effects(plan))
		if jobtest.Effects(plan) > 0 {
			s.invariants()
			continue
		}
		if p := s.some("pod", isTerminating); p != nil {
			s.finish(p.UID, 143)
			continue
		}
		if p := s.some("pod", jobtest.Active); p != nil {
			s.finish(p.UID, 0)
			continue
		}
		if s.RequeueAfter == 0 {
			break
		}
		s.Now = s.Now.Add(s.RequeueAfter)
	}
	text, _ := json.MarshalIndent(s.Job, "", " ")
	s.Fatalf("the Job does not end, at %s with %d pods: %s", s.Now, len(s.Pods), text)
}
