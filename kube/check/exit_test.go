package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAfterExit(t *testing.T) {
	const kubelet = "it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m"
	const sixInPlace = "it restarts in its pod at once, then after 10s, then 20s and so on, up to 2m40s (restartPolicy OnFailure); the Job fails at 6 restarts in all (backoffLimit)"
	const fails = "it stays ended, and the pod fails (restartPolicy Never); "
	const another = fails + "another pod starts after 10s, then 20s and so on, up to 5m20s"
	const forEver = fails + "another pod starts after 10s, then 20s and so on, up to 10m"
	rule := func(action, on string) string {
		return "podFailurePolicy:\n  rules:\n  - action: " + action + "\n    onExitCodes: " + on
	}
	const perIndex = "completionMode: Indexed\ncompletions: 3\n"
	onFailure := func(text string) string { return strings.Replace(text, "Never", "OnFailure", 1) }
	for _, tt := range []struct{ name, text, want string }{
		{"counted", with(job, "", ""), another + ", and the Job fails with failure 7 (backoffLimit)"},
		{"of another controller", with(job, "SPEC", "managedBy: example.com/a"), fails + "example.com/a runs the Job, and decides what follows"},
		{"no failure tolerated", with(job, "SPEC", "backoffLimit: 0"), "it stays ended, and the pod fails (restartPolicy Never); the Job fails, since backoffLimit is 0"},
		{"FailJob", with(job, "SPEC", rule("FailJob", "{operator: In, values: [42]}")), "it stays ended, and the pod fails (restartPolicy Never); the Job fails at once (podFailurePolicy.rules[0])"},
		{"FailJob for another code", with(job, "SPEC", rule("FailJob", "{operator: In, values: [1]}")), another + ", and the Job fails with failure 7 (backoffLimit)"},
		{"Ignore", with(job, "SPEC", rule("Ignore", "{operator: NotIn, values: [0]}")), forEver + ", and the failure counts towards no limit (podFailurePolicy.rules[0])"},
		{"Count", with(job, "SPEC", rule("Count", "{operator: In, values: [42]}")), another + ", and the Job fails with failure 7 (backoffLimit) (podFailurePolicy.rules[0])"},
		{"FailIndex", with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nbackoffLimitPerIndex: 2\n"+rule("FailIndex", "{operator: In, values: [42]}")),
			"it stays ended, and the pod fails (restartPolicy Never); its index fails at once (podFailurePolicy.rules[0])"},
		{"per index", with(cronJob, "JOB", "completionMode: Indexed\ncompletions: 3\nbackoffLimitPerIndex: 2"), fails + "another pod starts after 10s, then 20s, and the index fails with failure 3 (backoffLimitPerIndex)"},
		{"per index, and fewer in all", with(job, "SPEC", perIndex+"backoffLimit: 2\nbackoffLimitPerIndex: 5"), fails + "another pod starts after 10s, then 20s, and the Job fails with failure 3 of all indexes (backoffLimit)"},
		{"per index, and none in all", with(job, "SPEC", perIndex+"backoffLimit: 0\nbackoffLimitPerIndex: 1"), fails + "the Job fails, since backoffLimit is 0"},
		{"per index, and more in all", with(job, "SPEC", perIndex+"backoffLimit: 2\nbackoffLimitPerIndex: 1"), fails + "another pod starts after 10s, and the index fails with failure 2 (backoffLimitPerIndex); the Job fails with failure 3 of all indexes (backoffLimit)"},
		{"none per index", with(job, "SPEC", perIndex+"backoffLimitPerIndex: 0\nmaxFailedIndexes: 1"), fails + "the index fails, since backoffLimitPerIndex is 0; the Job fails with failed index 2 (maxFailedIndexes)"},
		{"an index that fails the Job", with(job, "SPEC", perIndex+"backoffLimitPerIndex: 1\nmaxFailedIndexes: 0"), fails + "another pod starts after 10s, and the index fails with failure 2 (backoffLimitPerIndex), and with it the Job (maxFailedIndexes)"},
		{"more failed indexes than there are", with(job, "SPEC", perIndex+"backoffLimitPerIndex: 1\nmaxFailedIndexes: 3"), fails + "another pod starts after 10s, and the index fails with failure 2 (backoffLimitPerIndex)"},
		{"a condition of every failed pod", with(job, "SPEC", "backoffLimit: 0\npodFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: Ready, status: 'False'}]}, {action: FailJob, onExitCodes: {operator: In, values: [42]}}]}"),
			forEver + ", and the failure counts towards no limit (podFailurePolicy.rules[0])"},
		{"FailIndex that fails the Job", with(job, "SPEC", perIndex+"backoffLimitPerIndex: 1\nmaxFailedIndexes: 0\n"+rule("FailIndex", "{operator: In, values: [42]}")), fails + "its index fails at once (podFailurePolicy.rules[0]), and with it the Job (maxFailedIndexes)"},
		{"one failure tolerated", with(job, "SPEC", "backoffLimit: 1"), fails + "another pod starts after 10s, and the Job fails with failure 2 (backoffLimit)"},
		{"as many as it takes to reach the longest delay", with(job, "SPEC", "backoffLimit: 7"), forEver + ", and the Job fails with failure 8 (backoffLimit)"},
		{"a deadline before the limit", with(job, "SPEC", "activeDeadlineSeconds: 120"),
			fails + "another pod starts after 10s, then 20s and so on, up to 40s, and the Job fails after 2m0s (activeDeadlineSeconds), before failure 7 (backoffLimit)"},
		{"a deadline before the limit per index", with(job, "SPEC", perIndex+"backoffLimitPerIndex: 6\nactiveDeadlineSeconds: 120"),
			fails + "another pod starts after 10s, then 20s and so on, up to 40s, and the Job fails after 2m0s (activeDeadlineSeconds), before failure 7 (backoffLimitPerIndex)"},
		{"a deadline before the limit per index, but few failures in all", with(job, "SPEC", perIndex+"backoffLimit: 2\nbackoffLimitPerIndex: 6\nactiveDeadlineSeconds: 25"),
			fails + "another pod starts after 10s, and the Job fails with failure 3 of all indexes (backoffLimit), or after 25s (activeDeadlineSeconds)"},
		{"a deadline before the limit per index, but not many in all", with(job, "SPEC", perIndex+"backoffLimit: 17\nbackoffLimitPerIndex: 6\nactiveDeadlineSeconds: 300"),
			fails + "another pod starts after 10s, then 20s and so on, up to 1m20s, and the index fails with failure 7 (backoffLimitPerIndex), or the Job after 5m0s (activeDeadlineSeconds); the Job fails with failure 18 of all indexes (backoffLimit)"},
		{"a deadline at the end of a delay", with(job, "SPEC", "activeDeadlineSeconds: 30"),
			fails + "another pod starts after 10s, and the Job fails after 30s (activeDeadlineSeconds), before failure 7 (backoffLimit)"},
		{"a deadline before the first delay ends", with(job, "SPEC", "activeDeadlineSeconds: 10"), fails + "the pod is not replaced, since the Job fails after 10s (activeDeadlineSeconds)"},
		{"a deadline that pods which fail together may not reach", with(job, "SPEC", "activeDeadlineSeconds: 120\nparallelism: 7"),
			fails + "another pod starts after 10s, then 20s and so on, up to 40s, and the Job fails with failure 7 (backoffLimit), or after 2m0s (activeDeadlineSeconds)"},
		{"a deadline that pods which fail together in turns may not reach", with(job, "SPEC", "activeDeadlineSeconds: 120\nparallelism: 3\ncompletions: 3"),
			fails + "another pod starts after 10s, then 20s and so on, up to 40s, and the Job fails with failure 7 (backoffLimit), or after 2m0s (activeDeadlineSeconds)"},
		{"a deadline that failures between successes may not reach", with(job, "SPEC", "activeDeadlineSeconds: 600\nparallelism: 1\ncompletions: 20"),
			fails + "another pod starts after 10s, then 20s and so on, up to 2m40s, and the Job fails with failure 7 (backoffLimit), or after 10m0s (activeDeadlineSeconds)"},
		{"a deadline after the limit", with(job, "SPEC", "activeDeadlineSeconds: 3600"), another + ", and the Job fails with failure 7 (backoffLimit), or after 1h0m0s (activeDeadlineSeconds)"},
		{"a deadline without a limit", with(job, "SPEC", "activeDeadlineSeconds: 86400\nbackoffLimit: 2147483647"), forEver + ", and the Job fails after 24h0m0s (activeDeadlineSeconds)"},
		{"a deadline of ignored failures", with(job, "SPEC", "activeDeadlineSeconds: 86400\n"+rule("Ignore", "{operator: NotIn, values: [0]}")),
			forEver + ", and the failure counts towards no limit (podFailurePolicy.rules[0]); the Job fails after 24h0m0s (activeDeadlineSeconds)"},
		{"a deadline of restarts in place", onFailure(with(job, "SPEC", "activeDeadlineSeconds: 120")),
			sixInPlace + ", or after 2m0s (activeDeadlineSeconds)"},
		{"without a limit", with(job, "SPEC", "backoffLimit: 2147483647"), forEver + ", without a limit"},
		{"OnFailure", onFailure(with(job, "", "")), sixInPlace},
		{"OnFailure, two restarts", onFailure(with(job, "SPEC", "backoffLimit: 2")), "it restarts in its pod at once, then after 10s (restartPolicy OnFailure); the Job fails at 2 restarts in all (backoffLimit)"},
		{"OnFailure, no failure tolerated", onFailure(with(job, "SPEC", "backoffLimit: 0")), "it restarts in its pod at once (restartPolicy OnFailure); the Job fails at the first restart"},
		{"OnFailure, without a limit", onFailure(with(job, "SPEC", "backoffLimit: 2147483647")), kubelet + " (restartPolicy OnFailure); nothing limits these restarts"},
		{"a rule restarts in place", with(job, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"),
			kubelet + " (restartPolicyRules[0]); no limit of the Job counts these restarts"},
		{"a rule restarts all", with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]"),
			"all containers of the pod restart, without a delay (restartPolicyRules[0])"},
		{"a rule restarts all in a Job", with(job, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]"),
			"all containers of the pod restart, without a delay (restartPolicyRules[0]); no limit of the Job counts these restarts"},
		{"a pod", with(pod, "", ""), kubelet + " (restartPolicy Always)"},
		{"a pod that ends", with(pod, "POD", "restartPolicy: Never"), "it stays ended, and the pod fails (restartPolicy Never)"},
		{"a Deployment", with(deployment, "", ""), kubelet + " (restartPolicy Always)"},
	} {
		object := Parse("", []byte(tt.text)).Objects[0]
		if worst := object.Judge(Options{}).Worst(); worst == Error {
			t.Errorf("%s: %v", tt.name, object.Judge(Options{}).Findings)
		}
		effects := object.AfterExit(42, Options{})
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
			"side: it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m (restartPolicy Always); no limit of the Job counts these restarts",
			"other: it is done; the pod succeeds if all of its containers do (restartPolicy Never)",
			"main: it is done; the pod succeeds if all of its containers do (restartPolicy Never)",
		},
		1: {
			"first: it stays ended, and the pod fails (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 5m20s, and the Job fails with failure 7 (backoffLimit)",
			"side: it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m (restartPolicy Always); no limit of the Job counts these restarts",
			"other: it stays ended, and the pod fails once its other containers have ended (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 5m20s, and the Job fails with failure 7 (backoffLimit)",
			"main: it stays ended, and the pod fails once its other containers have ended (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 5m20s, and the Job fails with failure 7 (backoffLimit)",
		},
	} {
		var got []string
		for _, e := range object.AfterExit(code, Options{}) {
			got = append(got, e.Container+": "+e.Text)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%d:\n%s\nwant\n%s", code, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if got := (&Object{Kind: "Service"}).AfterExit(1, Options{}); got != nil {
		t.Errorf("%v", got)
	}
}

// workload is a workload of the kind whose containers have these restart policies.
func workload(kind string, containers ...string) string {
	text := with(deployment, "", "")
	for i, c := range containers {
		containers[i] = fmt.Sprintf("{name: c%d, image: x%s}", i, c)
	}
	return strings.NewReplacer("kind: Deployment", "kind: "+kind, "{name: main, image: x}", strings.Join(containers, ", ")).Replace(text)
}

// A controller replaces a pod that has ended, at once. A pod of which another container
// goes on does not end.
func TestContainersThatEndInPodsKeptRunning(t *testing.T) {
	const (
		never, onFailure = ", restartPolicy: Never", ", restartPolicy: OnFailure"
		rule             = ", restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [3]}}]"
		everyCode        = ", restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [7]}}, {action: RestartAllContainers, exitCodes: {operator: In, values: [7]}}]"
		again            = "another pod starts at once, without a delay however often this happens"
		runsOn           = "it stays ended, and the pod runs on without it and is not Ready again"
		untilAll         = "it stays ended, and the pod is not Ready from then on, and ends once its other containers have"
		restarts         = "it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m"
	)
	for _, tt := range []struct {
		name, text string
		code       int32
		effect     string // of the first container
		warning    string // beginning
	}{
		{"Never", workload("Deployment", never), 1, "it stays ended, and the pod fails (restartPolicy Never); " + again, "after exit code 1, it stays ended, and the pod fails"},
		{"Never, with success", workload("ReplicaSet", never), 0, "it stays ended, and the pod succeeds (restartPolicy Never); " + again, "after exit code 1, "},
		{"Never in a StatefulSet", workload("StatefulSet", never), 1, "it stays ended, and the pod fails (restartPolicy Never); " + again, "after exit code 1, "},
		{"Never in a DaemonSet", workload("DaemonSet", never), 1,
			"it stays ended, and the pod fails (restartPolicy Never); another pod starts at once, then after 1s, then 2s and so on, up to 15m", "after exit code 1, "},
		{"Never in a DaemonSet, with success", workload("DaemonSet", never), 0, "it stays ended, and the pod succeeds (restartPolicy Never); " + again, "after exit code 1, "},
		{"OnFailure", workload("Deployment", onFailure), 0, "it stays ended, and the pod succeeds (restartPolicy OnFailure); " + again, "after exit code 0, "},
		{"OnFailure, with a failure", workload("Deployment", onFailure), 1, restarts + " (restartPolicy OnFailure)", "after exit code 0, "},
		{"Never beside one that keeps running", workload("Deployment", never, ""), 1, runsOn + " (restartPolicy Never)", "after exit code 1, " + runsOn},
		{"Never beside one that restarts all", workload("Deployment", never, ", restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [7]}}, {action: Restart, exitCodes: {operator: NotIn, values: [7]}}]"), 1,
			"it stays ended, and the pod runs on without it until a rule restarts all of its containers (restartPolicy Never)", "after exit code 1, it stays ended, and the pod runs on without it until"},
		{"Never beside a sidecar that restarts all", strings.Replace(workload("Deployment", never, ""), "containers:", "initContainers: [{name: s, image: x, restartPolicy: Always, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [7]}}]}]\n      containers:", 1), 7,
			"the other containers get 2s to end, and then all containers of the pod restart, without a delay (restartPolicyRules[0])", "after exit code 1, it stays ended, and the pod runs on without it until"},
		{"Never beside one that may end", workload("Deployment", never, onFailure), 1, untilAll + " (restartPolicy Never); then " + again, "after exit code 1, " + untilAll},
		{"a rule leaves one exit code out", workload("Deployment", rule), 3, "it stays ended, and the pod fails (restartPolicy Never); " + again, "after exit code 3, "},
		{"rules for every exit code", workload("Deployment", everyCode), 3, restarts + " (restartPolicyRules[0])", ""},
		{"Always", workload("Deployment", ", restartPolicy: Always"), 3, restarts + " (restartPolicy Always)", ""},
		{"none", workload("Deployment", ""), 0, restarts + " (restartPolicy Always)", ""},
		{"a pod of its own", with(pod, "CONTAINER", "restartPolicy: Never"), 1, "it stays ended, and the pod fails (restartPolicy Never)", ""},
		{"an init container", strings.Replace(workload("Deployment", ""), "containers:", "initContainers: [{name: i, image: x, restartPolicy: Never}]\n      containers:", 1), 1,
			"it stays ended, and the pod fails (restartPolicy Never); " + again, ""},
		{"an init container that is done", strings.Replace(workload("Deployment", ""), "containers:", "initContainers: [{name: i, image: x, restartPolicy: Never}]\n      containers:", 1), 0,
			"it is done, and the pod goes on", ""},
		{"a sidecar", strings.Replace(workload("Deployment", ""), "containers:", "initContainers: [{name: i, image: x, restartPolicy: Always}]\n      containers:", 1), 1,
			restarts + " (restartPolicy Always)", ""},
	} {
		object := Parse("", []byte(tt.text)).Objects[0]
		if got := object.AfterExit(tt.code, Options{})[0].Text; got != tt.effect {
			t.Errorf("%s, exit code %d:\ngot  %s\nwant %s", tt.name, tt.code, got, tt.effect)
		}
		var warnings []string
		for _, f := range object.Judge(Options{}).Findings {
			if f.Kind == KindEnds && f.Field == "spec.template.spec.containers[0].restartPolicy" && f.Severity == Warning {
				warnings = append(warnings, f.Text)
			}
		}
		if (len(warnings) > 0) != (tt.warning != "") || len(warnings) > 0 && !strings.HasPrefix(warnings[0], tt.warning) {
			t.Errorf("%s: %q, want %q", tt.name, warnings, tt.warning)
		}
	}
}

func TestAfterDrain(t *testing.T) {
	const fails = "the pod fails with the condition DisruptionTarget; "
	ignored := "podFailurePolicy:\n  rules:\n  - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}\n  - {action: FailJob, onExitCodes: {operator: In, values: [143]}}"
	for _, tt := range []struct{ name, text, want string }{
		{"counted", with(job, "", ""), fails + "another pod starts after 10s, then 20s and so on, up to 5m20s, and the Job fails with failure 7 (backoffLimit)"},
		{"ignored", with(job, "SPEC", ignored), fails + "another pod starts after 10s, then 20s and so on, up to 10m, and the failure counts towards no limit (podFailurePolicy.rules[0])"},
		{"an exit code that fails the Job", with(job, "SPEC", strings.Replace(ignored, "DisruptionTarget", "DisruptionTraget", 1)), fails + "the Job fails at once (podFailurePolicy.rules[1])"},
		{"a pod of its own", with(pod, "", ""), "the pod is deleted, if kubectl drain is told to with --force, and nothing starts another one"},
		{"a Deployment", with(deployment, "", ""), "the pod is deleted, and another one starts on another node"},
		{"a DaemonSet", workload("DaemonSet", ""), "kubectl drain passes over pods of a DaemonSet, if it is told to with --ignore-daemonsets"},
		{"another kind", "apiVersion: v1\nkind: Service\n", ""},
	} {
		if got := Parse("", []byte(tt.text)).Objects[0].AfterDrain(Options{}); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
	const want = "the pod fails; another pod starts"
	if got := Parse("", []byte(with(job, "", ""))).Objects[0].AfterDrain(Options{Kubernetes: "1.25"}); !strings.HasPrefix(got, want) {
		t.Errorf("before the condition: got  %s\nwant %s", got, want)
	}
}

// A version that drops a field acts without it, and one that refuses it has no Job.
func TestVersionsActWithoutWhatTheyDrop(t *testing.T) {
	rules := with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]")
	perIndex := with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nbackoffLimitPerIndex: 2\npodFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}")
	sidecar := with(pod, "POD", "restartPolicy: Never\ninitContainers: [{name: s, image: x, restartPolicy: Always}]")
	numbered := with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nbackoffLimitPerIndex: 1\npodFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [3]}}, "+
		"{action: FailJob, onExitCodes: {operator: In, values: [4]}}, {action: FailIndex, onExitCodes: {operator: In, values: [5]}}, {action: Ignore, onExitCodes: {operator: In, values: [6]}}]}")
	const counted = "it stays ended, and the pod fails (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 5m20s, and the Job fails with failure 7 (backoffLimit)"
	for _, tt := range []struct {
		text, version string
		code          int32
		want          string
	}{
		{rules, "1.35", 42, "it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m (restartPolicyRules[0])"},
		{rules, "1.34", 42, "it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m (restartPolicy Always)"},
		{sidecar, "1.29", 0, "it restarts in its pod at once, then after 10s, then 20s and so on, up to 5m (restartPolicy Always)"},
		{sidecar, "1.28", 0, "it is done, and the pod goes on"},
		{perIndex, "1.29", 1, "it stays ended, and the pod fails (restartPolicy Never); another pod starts after 10s, then 20s, and the index fails with failure 3 (backoffLimitPerIndex)"},
		{perIndex, "1.28", 1, counted},
		{perIndex, "1.26", 42, "it stays ended, and the pod fails (restartPolicy Never); the Job fails at once (podFailurePolicy.rules[0])"},
		{perIndex, "1.25", 42, counted},
		{numbered, "1.28", 3, counted},
		{numbered, "1.28", 4, "it stays ended, and the pod fails (restartPolicy Never); the Job fails at once (podFailurePolicy.rules[1])"},
		{numbered, "1.28", 6, "it stays ended, and the pod fails (restartPolicy Never); another pod starts after 10s, then 20s and so on, up to 10m, and the failure counts towards no limit (podFailurePolicy.rules[3])"},
	} {
		object := Parse("", []byte(tt.text)).Objects[0]
		if got := object.AfterExit(tt.code, Options{Kubernetes: tt.version})[0].Text; got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.version, got, tt.want)
		}
	}
	for version, want := range map[string]string{"1.28": "at most 9 pods, 10m30s of waiting", "1.29": "at most 9 pods, 1m30s of waiting"} {
		w := Parse("", []byte(perIndex)).Objects[0].Judge(Options{Kubernetes: version}).WorstCase
		if w == nil || !strings.HasSuffix(w.String(), want) {
			t.Errorf("%s: %v", version, w)
		}
	}
}

// A version that drops the limit per index has the default backoffLimit of Jobs without one.
func TestDefaultsOfTheVersion(t *testing.T) {
	text := with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nparallelism: 1\nbackoffLimitPerIndex: 2\nactiveDeadlineSeconds: 10")
	for version, limit := range map[string]string{"1.28": "backoffLimit 6", "1.29": "backoffLimitPerIndex 2"} {
		want := "the deadline of 10s passes before " + limit + " is reached"
		findings := Parse("", []byte(text)).Objects[0].Judge(Options{Kubernetes: version}).Findings
		if !slices.ContainsFunc(findings, func(f Finding) bool { return strings.HasPrefix(f.Text, want) }) {
			t.Errorf("%s: %v, want %s", version, findings, want)
		}
	}
}

// If the version refuses the object, that is an error.
func TestRefusedByTheVersion(t *testing.T) {
	rules := "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"
	for version, want := range map[string]Severity{"1.30": Error, "1.33": Error, "1.34": Warning, "1.35": ""} {
		for _, text := range []string{with(pod, "CONTAINER", rules), with(job, "CONTAINER", rules)} {
			judgement := Parse("", []byte(text)).Objects[0].Judge(Options{Kubernetes: version})
			if judgement.Worst() != want || want == Error && judgement.WorstCase != nil {
				t.Errorf("%s: %v, %v; want %s", version, judgement.Findings, judgement.WorstCase, want)
			}
		}
	}
}

// A pod of very many containers is judged, each in a few steps.
func TestManyContainersThatStayEnded(t *testing.T) {
	const most = 5000
	var containers strings.Builder
	for i := range most {
		fmt.Fprintf(&containers, "{name: c%d, image: x, restartPolicy: OnFailure}, ", i)
	}
	text := strings.Replace(with(deployment, "", ""), "{name: main, image: x}", containers.String(), 1)
	object := Parse("", []byte(text)).Objects[0]
	ends := 0
	for _, f := range object.Judge(Options{}).Findings {
		if f.Kind == KindEnds {
			ends++
		}
	}
	if ends != most {
		t.Errorf("%d containers that may stay ended, want %d", ends, most)
	}
}

// Failures that a rule ignores wait for ever, even if the limits allow no others.
func TestIgnoredFailuresWaitForEver(t *testing.T) {
	text := with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nbackoffLimit: 0\nbackoffLimitPerIndex: 1\npodFailurePolicy:\n  rules:\n  - action: Ignore\n    onExitCodes: {operator: In, values: [42]}")
	if w := Parse("", []byte(text)).Objects[0].Judge(Options{}).WorstCase; w == nil || !w.WaitsForever() {
		t.Errorf("%+v", w)
	}
}
