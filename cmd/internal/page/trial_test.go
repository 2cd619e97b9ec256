package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/check"
	"pgregory.net/rapid"
)

func TestStoriesOfOnePod(t *testing.T) {
	policy := "  podFailurePolicy:\n    rules:\n    - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}\n    - {action: FailJob, onExitCodes: {operator: In, values: [42]}}\n"
	perIndex := "  completionMode: Indexed\n  completions: 5\n  parallelism: 5\n  backoffLimitPerIndex: 1\n"
	exit := func(code string) map[string]string { return map[string]string{"main": code} }
	for name, tt := range map[string]struct {
		more  string
		trial Trial
		want  string
	}{
		"first failure":    {"", Trial{Exits: exit("1")}, "the Job has no failure policy; failure 1 of the Job, limit 6; the replacement starts 10s after the end of the pod"},
		"third in a row":   {"", Trial{Exits: exit("1"), Failures: 2}, "the Job has no failure policy; failure 3 of the Job, limit 6; the replacement starts 40s after the end of the pod"},
		"ignored before":   {"", Trial{Exits: exit("1"), Ignored: 2}, "the Job has no failure policy; failure 1 of the Job, limit 6; the replacement starts 40s after the end of the pod"},
		"one too many":     {"", Trial{Exits: exit("1"), Failures: 6}, "the Job has no failure policy; failure 7 of the Job, limit 6; no replacement: the Job fails (BackoffLimitExceeded): Job has reached the specified backoff limit"},
		"drained":          {policy, Trial{Exits: exit("143"), Conditions: "DisruptionTarget"}, "rule 0 (Ignore); not counted; the replacement starts 10s after the end of the pod"},
		"not drained":      {policy, Trial{Exits: exit("143"), Conditions: "DisruptionTarget=False"}, "no rule matches; failure 1 of the Job, limit 6; the replacement starts 10s after the end of the pod"},
		"a bug":            {policy, Trial{Exits: exit("42"), Index: 3}, "rule 1 (FailJob); failure 1 of the Job, limit 6; no replacement: the Job fails (PodFailurePolicy): Container main for pod default/plain-3-x failed with exit code 42 matching FailJob rule at index 1"},
		"an index":         {perIndex, Trial{Exits: exit("1"), Index: 4}, "the Job has no failure policy; failure 1 of index 4, limit 1; the replacement starts 10s after the end of the pod"},
		"a failed index":   {perIndex, Trial{Exits: exit("1"), Index: 4, Failures: 1}, "the Job has no failure policy; failure 2 of index 4, limit 1: the index has failed; no replacement: the other indexes go on, and the Job fails at the end"},
		"too many indexes": {perIndex + "  maxFailedIndexes: 0\n", Trial{Exits: exit("1"), Failures: 1}, "the Job has no failure policy; failure 2 of index 0, limit 1: the index has failed; no replacement: the Job fails (MaxFailedIndexesExceeded): Job has exceeded the specified maximal number of failed indexes"},
		"a short deadline": {"  activeDeadlineSeconds: 5\n", Trial{Exits: exit("1")}, "the Job has no failure policy; failure 1 of the Job, limit 6; the replacement starts 10s after the end of the pod, unless the Job's deadline of 5 s passes first"},
		"success":          {"", Trial{Exits: exit("0")}, "no rule: the pod succeeds; ; "},
		"no such index":    {perIndex, Trial{Index: 5}, "! index 5: the highest of the Job is 4"},
		"no exit code":     {"", Trial{Exits: exit("x")}, `! container main: "x" is no exit code`},
		"no such status":   {"", Trial{Conditions: "Ready=Maybe"}, `! condition Ready: "Maybe" is not True, False or Unknown`},
		"nothing is known": {"", Trial{}, "the Job has no failure policy; failure 1 of the Job, limit 6; the replacement starts 10s after the end of the pod"},
		"below 0":          {"", Trial{Exits: exit("1"), Failures: -3, Index: -1}, "the Job has no failure policy; failure 1 of the Job, limit 6; the replacement starts 10s after the end of the pod"},
	} {
		got := view[checkAnswer](t, "/api/check", checkQuestion{Manifest: plain(tt.more), Trials: []Trial{tt.trial}})
		if len(got.Trials) != 1 {
			t.Fatalf("%s: %+v", name, got)
		}
		one := got.Trials[0]
		said := strings.Join([]string{one.Decides, one.Counts, one.Next}, "; ")
		if one.Mistake != "" {
			said = "! " + one.Mistake
		}
		if said != tt.want {
			t.Errorf("%s: %s\nwant %s", name, said, tt.want)
		}
	}
}

// jobIn returns the Job of a manifest.
func jobIn(t *rapid.T, manifest string) *batch.Job {
	job, _, _, why := jobOf(check.Parse("manifest", []byte(manifest)), "")
	if job == nil {
		t.Fatal(why)
	}
	return job
}

func begin() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// anyRule generates a rule on exit codes or conditions.
func anyRule(perIndex bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		actions := []string{"Ignore", "Count", "FailJob"}
		if perIndex {
			actions = append(actions, "FailIndex")
		}
		action := rapid.SampledFrom(actions).Draw(t, "action")
		if rapid.Bool().Draw(t, "on a condition") {
			return "    - {action: " + action + ", onPodConditions: [{type: DisruptionTarget}]}\n"
		}
		return fmt.Sprintf("    - {action: %s, onExitCodes: {operator: In, values: [%d]}}\n", action, rapid.IntRange(1, 3).Draw(t, "code"))
	})
}

// anyJob generates a Job with few indexes and low limits.
func anyJob() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		completions := rapid.IntRange(1, 5).Draw(t, "completions")
		text := fmt.Sprintf("  completions: %d\n  parallelism: %d\n", completions, rapid.IntRange(1, completions).Draw(t, "parallelism"))
		indexed := rapid.Bool().Draw(t, "indexed")
		perIndex := indexed && rapid.Bool().Draw(t, "per index")
		if indexed {
			text += "  completionMode: Indexed\n"
		}
		if perIndex {
			text += fmt.Sprintf("  backoffLimitPerIndex: %d\n", rapid.IntRange(0, 2).Draw(t, "limit"))
			if rapid.Bool().Draw(t, "bounded") {
				text += fmt.Sprintf("  maxFailedIndexes: %d\n", rapid.IntRange(0, completions).Draw(t, "most"))
			}
		}
		if !perIndex || rapid.Bool().Draw(t, "both limits") {
			text += fmt.Sprintf("  backoffLimit: %d\n", rapid.IntRange(0, 4).Draw(t, "of the Job"))
		}
		if rules := rapid.SliceOfN(anyRule(perIndex), 0, 3).Draw(t, "rules"); len(rules) > 0 {
			text += "  podFailurePolicy:\n    rules:\n" + strings.Join(rules, "")
		}
		return plain(text)
	})
}

// The result for one pod is the Engine's decision on a Job whose other indexes have all
// succeeded.
func TestOnePodIsJudgedAsByTheEngine(t *testing.T) {
	judgements := make(map[string]int)
	checkCounted(t, judgements, []string{"the Job fails", "the index fails", "goes on"}, func(t *rapid.T) {
		job := jobIn(t, anyJob().Draw(t, "job"))
		spec := &job.Spec
		completions := int(*spec.Completions)
		trial := Trial{Exits: map[string]string{"main": strconv.Itoa(rapid.IntRange(1, 4).Draw(t, "code"))}, Ignored: rapid.IntRange(0, 3).Draw(t, "ignored")}
		limit := spec.BackoffLimit
		if spec.BackoffLimitPerIndex != nil {
			limit = spec.BackoffLimitPerIndex
		}
		trial.Failures = rapid.IntRange(0, min(3, int(*limit))).Draw(t, "failures")
		if spec.BackoffLimitPerIndex != nil {
			trial.Failures = min(trial.Failures, int(min(*spec.BackoffLimit, 3)))
		}
		if rapid.Bool().Draw(t, "drained") {
			trial.Conditions = "DisruptionTarget"
		}
		if spec.CompletionMode == batch.IndexedCompletion {
			trial.Index = rapid.IntRange(0, completions-1).Draw(t, "index")
		}
		pod, err := trial.pod(job)
		if err != nil {
			t.Fatal(err)
		}
		now := begin().Add(time.Hour)
		pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt = now
		pod.UID, pod.CreationTimestamp = "uid", begin()
		pod.Track()
		memory := jobpolicy.State{}
		ended := *job
		ended.Status = batch.JobStatus{StartTime: begin(), Succeeded: int32(completions - 1), Failed: int32(trial.Failures)}
		if spec.CompletionMode == batch.IndexedCompletion {
			var others []string
			for i := range completions {
				if i != trial.Index {
					others = append(others, strconv.Itoa(i))
				}
			}
			ended.Status.CompletedIndexes = strings.Join(others, ",")
			pod.Annotations = map[string]string{
				batch.JobCompletionIndexAnnotation:          strconv.Itoa(trial.Index),
				batch.JobIndexFailureCountAnnotation:        strconv.Itoa(trial.Failures),
				batch.JobIndexIgnoredFailureCountAnnotation: strconv.Itoa(trial.Ignored),
			}
		}
		if spec.BackoffLimitPerIndex == nil {
			memory.Failures, memory.LastFailure = trial.Failures+trial.Ignored, begin()
		}
		plan, err := engine.Plan(jobpolicy.Input{Job: &ended, Pods: []*batch.Pod{pod}, State: memory, Now: now})
		if err != nil || len(plan.Decisions) != 1 {
			t.Fatalf("%v %+v", err, plan)
		}
		match := jobpolicy.MatchPod(spec.PodFailurePolicy, pod)
		v := judge(job, trial, match, match.Message(pod))
		d := plan.Decisions[0]
		if d.Match != match || d.IndexFailed != v.indexFailed {
			t.Fatalf("the Engine decides %+v, the page %+v", d, v)
		}
		failing := slices.IndexFunc(plan.InterimStatus.Conditions, func(c batch.JobCondition) bool { return c.Type == batch.JobFailureTarget })
		switch {
		case v.reason != "":
			judgements["the Job fails"]++
			if failing < 0 || plan.InterimStatus.Conditions[failing].Reason != v.reason || plan.InterimStatus.Conditions[failing].Message != v.message {
				t.Fatalf("the page says %s: %s, the Engine %+v", v.reason, v.message, plan.InterimStatus.Conditions)
			}
		case v.indexFailed:
			judgements["the index fails"]++
			if failing < 0 || plan.InterimStatus.Conditions[failing].Reason != batch.JobReasonFailedIndexes {
				t.Fatalf("the last index has failed, the Engine says %+v", plan.InterimStatus.Conditions)
			}
		default:
			judgements["goes on"]++
			if failing >= 0 || plan.RequeueAfter != v.delay {
				t.Fatalf("the page says %v, the Engine %v %+v", v.delay, plan.RequeueAfter, plan.InterimStatus.Conditions)
			}
		}
	})
}
