package explain

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ruled returns a pod whose second rule is not reached.
func ruled() corev1.PodSpec {
	rule := corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}
	return corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", RestartPolicyRules: []corev1.ContainerRestartRule{rule, rule}}}}
}

// Findings are grouped by owner. An object whose controller was reviewed is left out,
// and the pods of an unknown controller are reported once, with it.
func TestLintGroupsByOwner(t *testing.T) {
	yes := true
	owned := func(name, uid, kind, owner string) *metav1.ObjectMeta {
		m := &metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)}
		if kind != "" {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, UID: types.UID(owner), Controller: &yes}}
		}
		return m
	}
	spec := ruled()
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		BackoffLimitPerIndex: new(int32(1)),
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{3, 256}}}}},
	}}
	pod := &corev1.Pod{Spec: spec}
	subjects := []Subject{
		{Kind: "Job", Meta: owned("nightly", "nightly", "", ""), Path: "spec", Job: &job.Spec, Object: job},
		{Kind: "Deployment", Meta: owned("web", "web", "", ""), Path: "spec", Pod: &spec, Object: pod},
		{Kind: "ReplicaSet", Meta: owned("web-1", "web-1", "Deployment", "web"), Path: "spec", Pod: &spec, Object: pod},
		{Kind: "Pod", Meta: owned("web-1-x", "x", "ReplicaSet", "web-1"), Path: "spec", Pod: &spec, Object: pod},
		{Kind: "Pod", Meta: owned("step-1", "s1", "Workflow", "flow"), Path: "spec", Pod: &spec, Object: pod},
		{Kind: "Pod", Meta: owned("step-2", "s2", "Workflow", "flow"), Path: "spec", Pod: &spec, Object: pod},
		{Kind: "Pod", Meta: owned("fine", "f", "", ""), Path: "spec", Pod: &corev1.PodSpec{}, Object: pod},
	}
	groups, err := Lint(subjects, "1.28")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	(&Printer{W: &text, Options: noon}).Groups(groups)
	const want = `deployment default/web:
  spec.containers[0].restartPolicyRules[1]: {"action":"Restart","exitCodes":{"operator":"In","values":[42]}}
    warning: rule restartPolicyRules[0] decides on every exit that this rule matches; remove this rule, or move it up

job default/nightly:
  spec.podFailurePolicy.rules[0].onExitCodes.values: [3,256]
`
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	for part, count := range map[string]int{
		"workflow default/flow:\n": 1, "step-": 0, "web-1": 0, "restartPolicyRules[1]:": 2, "fine": 0,
		"spec.backoffLimitPerIndex: 1\n    Kubernetes 1.28 drops it unless": 1,
	} {
		if got := strings.Count(text.String(), part); got != count {
			t.Errorf("%q occurs %d times, want %d, in\n%s", part, got, count, text.String())
		}
	}
	if _, err := Lint(nil, "1.99"); err == nil {
		t.Error("version 1.99 is accepted")
	}
}

// In a pod of a Deployment, whose restartPolicy is Always, the restart policy of the
// container itself says whether a rule that restarts it can matter.
func TestLintOfADeploymentsRules(t *testing.T) {
	rule := func(action corev1.ContainerRestartRuleAction, code int32) corev1.ContainerRestartRule {
		return corev1.ContainerRestartRule{Action: action, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
			Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}}}
	}
	for policy, want := range map[corev1.ContainerRestartPolicy]string{
		corev1.ContainerRestartPolicyAlways:    "spec.template.spec.containers[0].restartPolicyRules[0]",
		corev1.ContainerRestartPolicyOnFailure: "spec.template.spec.containers[0].restartPolicyRules[0]",
		corev1.ContainerRestartPolicyNever:     "",
	} {
		spec := &corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{
			Name: "c", RestartPolicy: &policy, RestartPolicyRules: []corev1.ContainerRestartRule{
				rule(corev1.ContainerRestartRuleActionRestart, 42),
				rule(corev1.ContainerRestartRuleActionRestartAllContainers, 88),
			},
		}}}
		groups, err := Lint([]Subject{{Kind: "Deployment", Meta: &metav1.ObjectMeta{Name: "web"}, Path: "spec.template.spec", Pod: spec, Object: spec}}, "")
		var got string
		for _, g := range groups {
			for _, f := range g.Findings {
				got += f.Field
			}
		}
		if got != want || err != nil {
			t.Errorf("%s: findings at %q, want %q; %v", policy, got, want, err)
		}
	}
}

func TestValuesOfPaths(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"rules": []any{map[string]any{"action": "Ignore"}, nil}, "text": strings.Repeat("x", 200)}}
	for path, want := range map[string]string{
		"spec.rules[0].action": `"Ignore"`, "spec.rules[0]": `{"action":"Ignore"}`, "spec.rules[1]": "", "spec.rules[2]": "", "spec.rules[99999999999999999999]": "",
		"spec.none.at.all": "", "spec.rules.action": "", "spec[0]": "", "spec.text": "", "spec.ru-les": "", "": "",
	} {
		if got := valueOf(object, path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// A field is listed with the newest version that lacks it, below the cluster's own.
func TestOlderVersions(t *testing.T) {
	spec := &batchv1.JobSpec{SuccessPolicy: &batchv1.SuccessPolicy{}, BackoffLimitPerIndex: new(int32(1))}
	for version, want := range map[string]string{
		"v1.37.2": "1.30 1.28", "v1.31.0-gke.7": "1.30 1.28", "1.30.1": "1.29 1.28", "v1.28.9": "1.27 1.27", "": "1.30 1.28", "v2.0.0": "1.30 1.28", "v1.25.0": "",
	} {
		var got []string
		for _, f := range older(spec, version) {
			for _, v := range []string{"1.30", "1.29", "1.28", "1.27"} {
				if strings.HasPrefix(f.Text, "Kubernetes "+v+" ") {
					got = append(got, v)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", version, got, want)
		}
	}
}
