package check

import (
	"strings"
	"testing"
)

func TestAfterExit(t *testing.T) {
	const kubelet = "it restarts in its pod after 10s, then 20s and so on, up to 5m"
	const another = "it stays ended, and the pod fails (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 10m"
	rule := func(action, on string) string {
		return "podFailurePolicy:\n  rules:\n  - action: " + action + "\n    onExitCodes: " + on
	}
	onFailure := func(text string) string { return strings.Replace(text, "Never", "OnFailure", 1) }
	for _, tt := range []struct{ name, text, want string }{
		{"counted", with(job, "", ""), another + ", and the Job fails with failure 7 (backoffLimit)"},
		{"no failure tolerated", with(job, "SPEC", "backoffLimit: 0"), "it stays ended, and the pod fails (restartPolicy Never); the Job fails, since backoffLimit is 0"},
		{"FailJob", with(job, "SPEC", rule("FailJob", "{operator: In, values: [42]}")), "it stays ended, and the pod fails (restartPolicy Never); the Job fails at once (podFailurePolicy.rules[0])"},
		{"FailJob for another code", with(job, "SPEC", rule("FailJob", "{operator: In, values: [1]}")), another + ", and the Job fails with failure 7 (backoffLimit)"},
		{"Ignore", with(job, "SPEC", rule("Ignore", "{operator: NotIn, values: [0]}")), another + ", and the failure counts towards no limit (podFailurePolicy.rules[0])"},
		{"Count", with(job, "SPEC", rule("Count", "{operator: In, values: [42]}")), another + ", and the Job fails with failure 7 (backoffLimit) (podFailurePolicy.rules[0])"},
		{"FailIndex", with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nbackoffLimitPerIndex: 2\n"+rule("FailIndex", "{operator: In, values: [42]}")),
			"it stays ended, and the pod fails (restartPolicy Never); its index fails at once (podFailurePolicy.rules[0])"},
		{"per index", with(cronJob, "JOB", "completionMode: Indexed\ncompletions: 3\nbackoffLimitPerIndex: 2"), another + ", and the index fails with failure 3 (backoffLimitPerIndex)"},
		{"without a limit", with(job, "SPEC", "backoffLimit: 2147483647"), another + ", without a limit"},
		{"OnFailure", onFailure(with(job, "", "")), kubelet + " (restartPolicy OnFailure); the Job fails at 6 restarts in all (backoffLimit)"},
		{"OnFailure, no failure tolerated", onFailure(with(job, "SPEC", "backoffLimit: 0")), kubelet + " (restartPolicy OnFailure); the Job fails at the first restart"},
		{"OnFailure, without a limit", onFailure(with(job, "SPEC", "backoffLimit: 2147483647")), kubelet + " (restartPolicy OnFailure); nothing limits these restarts"},
		{"a rule restarts in place", with(job, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"),
			kubelet + " (restartPolicyRules[0]); no limit of the Job counts these restarts"},
		{"a rule restarts all", with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]"),
			"all containers of the pod restart as soon as all have ended, without a delay (restartPolicyRules[0])"},
		{"a pod", with(pod, "", ""), kubelet + " (restartPolicy Always)"},
		{"a pod that ends", with(pod, "POD", "restartPolicy: Never"), "it stays ended, and the pod fails (restartPolicy Never)"},
		{"a Deployment", with(deployment, "", ""), kubelet + " (restartPolicy Always)"},
	} {
		object := Parse("", []byte(tt.text)).Objects[0]
		if worst := object.Judge(Options{}).Worst(); worst == Error {
			t.Errorf("%s: %v", tt.name, object.Judge(Options{}).Findings)
		}
		effects := object.AfterExit(42)
		if len(effects) != 1 || effects[0] != (ExitEffect{"main", 42, tt.want}) {
			t.Errorf("%s:\ngot  %+v\nwant %s", tt.name, effects, tt.want)
		}
	}
}

func TestAfterExitOfSeveralContainers(t *testing.T) {
	text := strings.Replace(with(job, "POD", "initContainers: [{name: first, image: x}, {name: side, image: x, restartPolicy: Always}]"), "- name: main", "- {name: other, image: x}\n      - name: main", 1)
	object := Parse("", []byte(text)).Objects[0]
	for code, want := range map[int32][]string{
		0: {
			"first: it is done, and the pod goes on",
			"side: it restarts in its pod after 10s, then 20s and so on, up to 5m (restartPolicy Always); no limit of the Job counts these restarts",
			"other: it is done; the pod succeeds if all of its containers do (restartPolicy Never)",
			"main: it is done; the pod succeeds if all of its containers do (restartPolicy Never)",
		},
		1: {
			"first: it stays ended, and the pod fails (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 10m, and the Job fails with failure 7 (backoffLimit)",
			"side: it restarts in its pod after 10s, then 20s and so on, up to 5m (restartPolicy Always); no limit of the Job counts these restarts",
			"other: it stays ended, and the pod fails once its other containers have ended (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 10m, and the Job fails with failure 7 (backoffLimit)",
			"main: it stays ended, and the pod fails once its other containers have ended (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 10m, and the Job fails with failure 7 (backoffLimit)",
		},
	} {
		var got []string
		for _, e := range object.AfterExit(code) {
			got = append(got, e.Container+": "+e.Text)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%d:\n%s\nwant\n%s", code, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if got := (&Object{Kind: "Service"}).AfterExit(1); got != nil {
		t.Errorf("%v", got)
	}
}
