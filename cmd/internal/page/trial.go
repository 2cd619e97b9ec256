package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Trial is a failed pod to try.
type Trial struct {
	Index      int               `json:"index"`      // completion index
	Failures   int               `json:"failures"`   // earlier counted failures, of the index or of the Job
	Ignored    int               `json:"ignored"`    // earlier ignored failures
	Exits      map[string]string `json:"exits"`      // by container; empty if it still runs
	Conditions string            `json:"conditions"` // such as DisruptionTarget, Ready=False
}

// Tried is a Trial with its result.
type Tried struct {
	Trial   Trial  `json:"trial"`
	Mistake string `json:"mistake,omitempty"` // in the Trial; no result is set then
	Rules   []Rule `json:"rules,omitempty"`
	Decides string `json:"decides,omitempty"` // the matching rule, if any
	Counts  string `json:"counts,omitempty"`  // counters of the failure
	Next    string `json:"next,omitempty"`    // start of the replacement, or why none follows
}

// Rule is the result of a rule of the pod failure policy.
type Rule struct {
	Rule    int    `json:"rule"`
	Action  string `json:"action"`
	Matched bool   `json:"matched"`
	Why     string `json:"why"`
}

// suggested returns failed pods worth trying. They cover exit code 1, a drained node, and
// exit codes listed by rules.
func suggested(job *batch.Job) []Trial {
	main := job.Spec.Template.Spec.Containers[0].Name
	exits := func(container string, code int32) map[string]string {
		all := make(map[string]string)
		for _, c := range job.Spec.Template.Spec.Containers {
			if all[c.Name] = "0"; c.Name == container {
				all[c.Name] = strconv.Itoa(int(code))
			}
		}
		return all
	}
	trials := []Trial{{Exits: exits(main, 1)}, {Exits: exits(main, 143), Conditions: string(batch.DisruptionTarget)}}
	for _, code := range listed(job) {
		if len(trials) < 5 && (code.container != main || code.code != 1) {
			trials = append(trials, Trial{Exits: exits(code.container, code.code)})
		}
	}
	return trials
}

// exit is the exit of a container.
type exit struct {
	container string
	code      int32
}

// listed returns an exit code of each rule that lists some.
func listed(job *batch.Job) (all []exit) {
	if job.Spec.PodFailurePolicy == nil {
		return nil
	}
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		on := rule.OnExitCodes
		if on == nil || on.Operator != batch.OpIn || len(on.Values) == 0 {
			continue
		}
		e := exit{job.Spec.Template.Spec.Containers[0].Name, on.Values[0]}
		if on.ContainerName != nil {
			e.container = *on.ContainerName
		}
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// try returns the result of a failed pod.
func try(job *batch.Job, t Trial) Tried {
	t.Index, t.Failures, t.Ignored = bounded(t.Index), bounded(t.Failures), bounded(t.Ignored)
	result := Tried{Trial: t}
	pod, err := t.pod(job)
	if err != nil {
		result.Mistake = clean(err.Error())
		return result
	}
	if pod.Status.Phase == batch.PodSucceeded {
		result.Decides = "no rule: the pod succeeds"
		return result
	}
	policy := job.Spec.PodFailurePolicy
	for _, step := range jobpolicy.Explain(policy, pod) {
		result.Rules = append(result.Rules, Rule{step.Rule, string(step.Action), step.Matched, clean(step.Why)})
	}
	match := jobpolicy.MatchPod(policy, pod)
	result.Decides = decides(policy, match)
	v := judge(job, t, match, match.Message(pod))
	result.Counts, result.Next = v.counts(job, t), clean(v.next(job))
	return result
}

func bounded(n int) int { return min(max(n, 0), math.MaxInt32) }

// decides names the rule of a Match.
func decides(policy *batch.PodFailurePolicy, m jobpolicy.Match) string {
	switch {
	case policy == nil:
		return "the Job has no failure policy"
	case m.Rule < 0:
		return "no rule matches"
	}
	return fmt.Sprintf("rule %d (%s)", m.Rule, m.Action)
}

// judged is the consequence of a failed pod.
type judged struct {
	match             jobpolicy.Match
	failures, ignored int // including this one
	indexFailed       bool
	reason            batch.Reason // why the Job ends; empty if it goes on
	message           string
	delay             time.Duration
}

// judge decides on a single pod as the Engine decides on a whole Job.
func judge(job *batch.Job, t Trial, match jobpolicy.Match, message string) judged {
	spec := &job.Spec
	v := judged{match: match}
	v.failures, v.ignored = match.NextCounts(t.Failures, t.Ignored)
	tally := jobpolicy.Progress{FailJob: message, Failed: v.failures}
	if v.indexFailed = match.IndexFailed(v.failures, spec.BackoffLimitPerIndex); v.indexFailed {
		tally.FailedIndexes = 1
	}
	limits := jobpolicy.EndLimits{Completions: spec.Completions, BackoffLimit: spec.BackoffLimit, MaxFailedIndexes: spec.MaxFailedIndexes}
	v.reason, v.message = limits.Verdict(tally)
	v.delay = engine.Remaining(v.failures+v.ignored, 0)
	return v
}

// counts describes the counters of the failure.
func (v judged) counts(job *batch.Job, t Trial) string {
	switch limit := job.Spec.BackoffLimitPerIndex; {
	case !v.match.Counted():
		return "not counted"
	case limit != nil:
		text := fmt.Sprintf("failure %d of index %d, limit %d", v.failures, t.Index, *limit)
		if v.indexFailed && v.match.Action == batch.ActionFailIndex {
			return text + ": the rule fails the index"
		}
		if v.indexFailed {
			return text + ": the index has failed"
		}
		return text
	}
	return fmt.Sprintf("failure %d of the Job, limit %d", v.failures, *job.Spec.BackoffLimit)
}

// next describes the start of the replacement.
func (v judged) next(job *batch.Job) string {
	switch {
	case v.reason != "":
		return fmt.Sprintf("no replacement: the Job fails (%s): %s", v.reason, v.message)
	case v.indexFailed:
		return "no replacement: the other indexes go on, and the Job fails at the end"
	}
	text := "the replacement starts " + human.Wait(v.delay) + " after the end of the pod"
	if deadline := job.Spec.ActiveDeadlineSeconds; deadline != nil && v.delay >= time.Duration(min(*deadline, math.MaxInt32))*time.Second {
		text += fmt.Sprintf(", unless the Job's deadline of %d s passes first", *deadline)
	}
	return text
}

// pod returns a pod that ended as described by t.
func (t Trial) pod(job *batch.Job) (*batch.Pod, error) {
	spec := job.Spec.Template.Spec
	pod := &batch.Pod{Spec: spec}
	pod.Name, pod.Namespace = fmt.Sprintf("%s-%d-x", job.Name, t.Index), job.Namespace
	if job.Spec.CompletionMode == batch.IndexedCompletion && t.Index >= int(*job.Spec.Completions) {
		return nil, fmt.Errorf("index %d: the highest of the Job is %d", t.Index, *job.Spec.Completions-1)
	}
	pod.Status.Phase = batch.PodSucceeded
	for _, c := range spec.Containers {
		status, err := t.status(c.Name)
		if err != nil {
			return nil, err
		}
		if status.State.Terminated == nil || status.State.Terminated.ExitCode != 0 {
			pod.Status.Phase = batch.PodFailed
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	for _, c := range spec.InitContainers {
		status, err := t.status(c.Name)
		if err != nil {
			return nil, err
		}
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			pod.Status.Phase = batch.PodFailed
		}
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
	}
	var err error
	if pod.Status.Conditions, err = conditions(t.Conditions); err != nil {
		return nil, err
	}
	if len(pod.Status.Conditions) > 0 {
		pod.Status.Phase = batch.PodFailed
	}
	return pod, nil
}

func (t Trial) status(container string) (batch.ContainerStatus, error) {
	status := batch.ContainerStatus{Name: container}
	text := strings.TrimSpace(t.Exits[container])
	if text == "" {
		status.State.Running = new(batch.ContainerStateRunning)
		return status, nil
	}
	code, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return status, fmt.Errorf("container %s: %q is no exit code", container, text)
	}
	status.State.Terminated = &batch.ContainerStateTerminated{ExitCode: int32(code)}
	return status, nil
}

const mostConditions = 20

// conditions parses conditions such as DisruptionTarget, Ready=False.
func conditions(text string) (all []batch.PodCondition, err error) {
	for word := range strings.SplitSeq(text, ",") {
		name, status, given := strings.Cut(strings.TrimSpace(word), "=")
		if name == "" && !given {
			continue
		}
		c := batch.PodCondition{Type: batch.PodConditionType(strings.TrimSpace(name)), Status: batch.ConditionStatus(strings.TrimSpace(status))}
		if !given {
			c.Status = batch.ConditionTrue
		}
		switch c.Status {
		case batch.ConditionTrue, batch.ConditionFalse, batch.ConditionUnknown:
		default:
			return nil, fmt.Errorf("condition %s: %q is not True, False or Unknown", name, status)
		}
		if c.Type == "" || len(all) == mostConditions {
			return nil, fmt.Errorf("conditions: must be at most %d, as DisruptionTarget, Ready=False", mostConditions)
		}
		all = append(all, c)
	}
	return all, nil
}
