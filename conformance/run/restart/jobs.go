package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/conformance/vectors/jobruns"
	"github.com/restartkit/restart/conformance/vectors/serve"
	"github.com/restartkit/restart/conformance/vectors/shape"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

func podFailurePolicy(in struct {
	FailIndexEnabled *bool         `json:"fail_index_enabled"`
	Policy           *shape.Policy `json:"policy"`
	Pod              *shape.Pod    `json:"pod"`
}) (any, error) {
	pod, err := in.Pod.Batch(time.Time{})
	if err != nil {
		return nil, err
	}
	policy := in.Policy.Batch()
	if in.FailIndexEnabled != nil && !*in.FailIndexEnabled && policy != nil &&
		slices.ContainsFunc(policy.Rules, func(r batch.PodFailurePolicyRule) bool { return r.Action == batch.ActionFailIndex }) {
		return nil, serve.Unsupported("FailIndex rules cannot be switched off")
	}
	m := jobpolicy.MatchPod(policy, pod)
	got := map[string]any{"action": nil, "counted": m.Counted(), "message": nil, "matched": m.Rule >= 0, "rule": nil}
	if m.Rule >= 0 {
		got["action"], got["rule"] = m.Action, m.Rule
	}
	if text := m.Message(pod); text != "" {
		got["message"] = text
	}
	return got, nil
}

func successPolicy(in struct {
	Enabled     *bool                `json:"enabled"`
	Policy      *shape.SuccessPolicy `json:"policy"`
	Completions int                  `json:"completions"`
	Succeeded   intervals            `json:"succeeded"`
}) (any, error) {
	if in.Enabled != nil && !*in.Enabled {
		return nil, serve.Unsupported("success policies cannot be switched off")
	}
	succeeded, err := in.Succeeded.set()
	m := jobpolicy.MatchSuccess(in.Policy.Batch(), succeeded, in.Completions)
	if m.Rule < 0 {
		return map[string]any{"met": false, "message": ""}, err
	}
	return map[string]any{"met": true, "message": fmt.Sprintf("Matched rules at index %d", m.Rule)}, err
}

// successRule asks about one rule with indexes. A policy tries such a rule only if an
// index has succeeded and the rule names indexes of the Job.
func successRule(in struct {
	RuleIndexes *string   `json:"rule_indexes"`
	Succeeded   intervals `json:"succeeded"`
	Count       *int32    `json:"count"`
}) (any, error) {
	succeeded, err := in.Succeeded.set()
	if err != nil {
		return nil, err
	}
	if in.RuleIndexes == nil {
		return nil, errors.New("a rule without indexes")
	}
	if wanted, _ := indexset.ParseLenient(*in.RuleIndexes); wanted.Len() == 0 || succeeded.Len() == 0 {
		return nil, serve.Unsupported("a rule without indexes, or without successes, which a policy never tries")
	}
	policy := &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: in.RuleIndexes, SucceededCount: in.Count}}}
	return jobpolicy.MatchSuccess(policy, succeeded, indexset.MaxIndex).Rule == 0, nil
}

func validateCreate(in struct {
	Spec shape.Spec `json:"spec"`
}) (any, error) {
	spec := in.Spec.Batch()
	return mistakes(spec.Validate())
}

func validateUpdate(in struct {
	Old shape.Spec `json:"old"`
	New shape.Spec `json:"new"`
}) (any, error) {
	old, spec := in.Old.Batch(), in.New.Batch()
	return mistakes(spec.ValidateUpdate(&old))
}

// mistakes returns an error of Validate in the form of a wanted outcome.
func mistakes(err error) (any, error) {
	var list field.Errors
	if err != nil && !errors.As(err, &list) {
		return nil, err
	}
	all := []map[string]string{}
	for _, e := range list {
		all = append(all, map[string]string{"type": "FieldValue" + string(e.Type), "field": e.Field})
	}
	return all, nil
}

// pass answers with one plan.
func pass(in struct {
	Input shape.Pass `json:"input"`
}) (any, error) {
	v := &in.Input
	if why := v.FailingEffects(); why != "" {
		return nil, serve.Unsupported(why)
	}
	pods, err := v.BatchPods()
	if err != nil {
		return nil, err
	}
	job := v.Job()
	input := jobpolicy.Input{Job: job, Pods: pods, Now: shape.PassNow, ExpectationsPending: v.ExpectationsPending()}
	input.State.Failures, input.State.LastFailure = v.Streak()
	plan, err := jobpolicy.Engine{}.Plan(input)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	result := shape.PassResult{
		Deletes: len(plan.Delete), Patches: len(plan.Release), RequeueAfter: plan.RequeueAfter,
		Before: &job.Status, Statuses: []*batch.JobStatus{plan.InterimStatus, plan.FinalStatus},
	}
	for _, c := range plan.Create {
		result.Created = append(result.Created, c.Annotations)
	}
	for _, d := range plan.Delete {
		if d.Untrack {
			result.Patches++
		}
	}
	return result.Outcome(), nil
}

// wholeJob replays a script of a Job's pods.
func wholeJob(in struct {
	Scenario jobruns.Scenario `json:"scenario"`
}) (any, error) {
	d := jobruns.New(in.Scenario)
	for d.Step() {
	}
	delays := []int64{}
	for _, delay := range d.Delays {
		delays = append(delays, delay.After.Milliseconds())
	}
	for i := range d.Steps { // those without creations have an empty list
		d.Steps[i].PodsCreatedAfter = append([]string{}, d.Steps[i].PodsCreatedAfter...)
	}
	return map[string]any{
		"outcome": d.Outcome(), "finalStatus": d.Status(), "podsCreated": len(d.Created),
		"steps": d.Steps, "recreation_delays_ms": delays,
	}, nil
}
