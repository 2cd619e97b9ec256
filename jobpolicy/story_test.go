package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/scenario"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// kep3329Policies are the policies of KEP-3329's three stories.
func kep3329Policies(t *testing.T) []*batch.PodFailurePolicy {
	var policies []*batch.PodFailurePolicy
	if err := json.Unmarshal([]byte(`[
		{"rules": [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [40, 41, 42]}}]},
		{"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
		{"rules": [{"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]},
		           {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}
	]`), &policies); err != nil {
		t.Fatal(err)
	}
	return policies
}

// endStory runs: end phase=PHASE [code=N] [deleting], the end state of a pod, and
// prints the result of each policy, without and with DisruptionTarget.
func endStory(t *testing.T) func(scenario.Case) string {
	policies := kep3329Policies(t)
	return func(c scenario.Case) string {
		args, err := c.Args()
		if err != nil || c.Name() != "end" {
			t.Fatalf("line %d: %q: %v", c.Line, c.Command, err)
		}
		var b strings.Builder
		for i, policy := range policies {
			for _, disrupted := range []bool{false, true} {
				p := &batch.Pod{ObjectMeta: batch.ObjectMeta{Name: "p", Namespace: "ns", UID: "u", Finalizers: []string{batch.JobTrackingFinalizer}}}
				p.Status.Phase = batch.PodPhase(args["phase"])
				if text, ok := args["code"]; ok {
					code, err := strconv.Atoi(text)
					if err != nil {
						t.Fatalf("line %d: %v", c.Line, err)
					}
					p.Status.ContainerStatuses = []batch.ContainerStatus{{Name: "main", State: batch.ContainerState{
						Terminated: &batch.ContainerStateTerminated{ExitCode: int32(code), FinishedAt: t0},
					}}}
				}
				if _, ok := args["deleting"]; ok {
					p.DeletionTimestamp = t0
				}
				label := "plain"
				if disrupted {
					label = "disrupted"
					jobtest.SetCondition(p, batch.DisruptionTarget, batch.ConditionTrue, "", t0)
				}
				in := jobpolicy.Input{Job: &batch.Job{Spec: batch.JobSpec{PodFailurePolicy: policy}}, Pods: []*batch.Pod{p}, Now: t0}
				fmt.Fprintf(&b, "story %d, %s: %s\n", i+1, label, judged(t, in))
			}
		}
		return b.String()
	}
}

// judged returns the decision about the only pod of an Input.
func judged(t *testing.T, in jobpolicy.Input) string {
	plan := mustPlan(t, jobpolicy.Engine{}, in)
	switch {
	case len(plan.Decisions) == 0:
		return "not ended, not judged yet"
	case in.Pods[0].Status.Phase == batch.PodSucceeded:
		return "succeeded"
	}
	m := plan.Decisions[0].Match
	counted := "not counted"
	if m.Counted() {
		counted = "counted"
	}
	if m.Rule < 0 {
		return "no rule, " + counted
	}
	return fmt.Sprintf("rule %d, %s, %s", m.Rule, m.Action, counted)
}

func TestEndStateStories(t *testing.T) {
	scenario.Run(t, "testdata/ends-*.story", endStory)
}

// jobStory drives one Indexed Job through a cluster:
//
//	create completions=N limit=N   a Job, its pods start to run
//	delete index=N                 delete the index' pod; it ends, and time passes until its replacement runs
//	downgrade                      the feature goes: field and status field are dropped, annotations are not written
//	upgrade limit=N                it comes back
func jobStory(t *testing.T) func(scenario.Case) string {
	var c *jobtest.Cluster
	number := func(args map[string]string, name string) *int32 {
		n, err := strconv.ParseInt(args[name], 10, 32)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return pointerTo(int32(n))
	}
	return func(step scenario.Case) string {
		args, err := step.Args()
		if err != nil {
			t.Fatal(err)
		}
		switch step.Name() {
		case "create":
			c = jobtest.New(indexedJob(*number(args, "completions"), *number(args, "limit")))
		case "delete":
			index := int(*number(args, "index"))
			for _, p := range c.Pods {
				if jobtest.Index(p) == index && jobtest.Active(p) {
					c.Change(p.UID, func(p *batch.Pod) { p.DeletionTimestamp = c.Now })
					carry(t, c)
					c.Exit(p.UID, 143)
					break
				}
			}
		case "downgrade":
			c.Job.Spec.BackoffLimitPerIndex = nil
			c.Job.Spec.BackoffLimit = pointerTo[int32](6)
			c.Job.Status.FailedIndexes = nil
		case "upgrade":
			c.Job.Spec.BackoffLimitPerIndex = number(args, "limit")
		default:
			t.Fatalf("line %d: %q", step.Line, step.Command)
		}
		carry(t, c)
		s := c.Job.Status
		var text strings.Builder
		text.WriteString(fmt.Sprintf("active %d, ready %d, failed %d", s.Active, *s.Ready, s.Failed))
		if s.FailedIndexes != nil {
			text.WriteString(fmt.Sprintf(", failedIndexes %q", *s.FailedIndexes))
		}
		for _, p := range c.Pods {
			if jobtest.Active(p) {
				text.WriteString(fmt.Sprintf("\nindex %d, failure count %q", jobtest.Index(p), p.Annotations[batch.JobIndexFailureCountAnnotation]))
			}
		}
		return text.String()
	}
}

// carry plans, carries out, starts new pods and lets delays pass until nothing is left
// to do.
func carry(t *testing.T, c *jobtest.Cluster) {
	for range 100 {
		plan, err := c.Plan()
		if err != nil {
			t.Fatal(err)
		}
		c.CarryOut(plan, jobtest.Effects(plan))
		for _, p := range c.Pods {
			if p.Status.Phase == batch.PodPending {
				c.Start(p.UID)
			}
		}
		if jobtest.Effects(plan) == 0 {
			if c.RequeueAfter == 0 {
				return
			}
			c.Now = c.Now.Add(max(c.RequeueAfter, time.Second))
		}
	}
	t.Fatal("the Job does not come to rest")
}

func TestJobStories(t *testing.T) {
	scenario.Run(t, "testdata/job-*.story", jobStory)
}
