package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// found returns everything that is found in a text, one line each.
func found(text string, options Options) (lines []string) {
	file := Parse("x.yaml", []byte(text))
	say := func(findings []Finding) {
		for _, f := range findings {
			lines = append(lines, string(f.Severity)+" "+f.String())
		}
	}
	say(file.Findings)
	for _, object := range file.Objects {
		say(object.Judge(options).Findings)
	}
	return lines
}

// The heads and bodies of manifests in which a test puts one line or more in place of
// SPEC, POD or CONTAINER.
const (
	job        = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  SPEC\n  template:\n    spec:\n      restartPolicy: Never\n      POD\n      containers:\n      - name: main\n        image: x\n        CONTAINER\n"
	cronJob    = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '* * * * *'\n  SPEC\n  jobTemplate:\n    spec:\n      JOB\n      template:\n        spec:\n          restartPolicy: Never\n          containers: [{name: main, image: x}]\n"
	pod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  POD\n  containers:\n  - name: main\n    image: x\n    CONTAINER\n"
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  SPEC\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      POD\n      containers: [{name: main, image: x}]\n"
)

// with puts lines in a manifest. Their lines keep the indent of what they replace.
func with(manifest string, at string, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(manifest) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == at:
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			for inner := range strings.Lines(lines) {
				b.WriteString(indent + strings.TrimSuffix(inner, "\n") + "\n")
			}
		case slices.Contains([]string{"SPEC", "POD", "CONTAINER", "JOB"}, trimmed):
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestJudge(t *testing.T) {
	long := strings.Repeat("a", 53)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", with(job, "", ""), nil},
		{"nothing in a CronJob", with(cronJob, "", ""), nil},
		{"nothing in a Pod", with(pod, "", ""), nil},
		{"nothing in a Deployment", with(deployment, "", ""), nil},
		{"a misspelt field hides that it is missing", strings.Replace(with(job, "", ""), "restartPolicy", "restartPolicies", 1),
			[]string{"error line 7: spec.template.spec.restartPolicies: unknown field: did you mean restartPolicy?"}},
		{"a wrong type hides what follows", with(job, "SPEC", "completionMode: Indexed\ncompletions: three"),
			[]string{`error line 6: spec.completions: is "three", must be an integer`}},
		{"twice", with(job, "SPEC", "parallelism: 1\nparallelism: 2"), []string{"error line 6: spec.parallelism: already given on line 5"}},
		{"numbers", with(job, "SPEC", "parallelism: -1\nbackoffLimit: -2\nactiveDeadlineSeconds: -3"), []string{
			"error line 5: spec.parallelism: is -1, must be 0 or more",
			"error line 6: spec.backoffLimit: is -2, must be 0 or more",
			"error line 7: spec.activeDeadlineSeconds: is -3, must be 0 or more"}},
		{"policies of a Job", with(job, "SPEC", "completionMode: Index\npodReplacementPolicy: Never\nmanagedBy: me"), []string{
			`error line 5: spec.completionMode: is "Index", must be NonIndexed or Indexed: did you mean Indexed?`,
			`error line 6: spec.podReplacementPolicy: is "Never", must be Failed or TerminatingOrFailed`,
			`error line 7: spec.managedBy: is "me", must be a domain and a path, such as example.com/controller`}},
		{"texts that are empty", with(job, "SPEC", "completionMode: ''\npodReplacementPolicy: ''"), []string{
			`error line 5: spec.completionMode: is "", must be NonIndexed or Indexed`,
			`error line 6: spec.podReplacementPolicy: is "", must be Failed or TerminatingOrFailed`}},
		{"Always in a Job", strings.Replace(with(job, "", ""), "Never", "Always", 1), []string{`error line 7: spec.template.spec.restartPolicy: is "Always": a Job's pods need OnFailure or Never`}},
		{"a misspelt restart policy", strings.Replace(with(job, "", ""), "Never", "OnFailed", 1), []string{`error line 7: spec.template.spec.restartPolicy: is "OnFailed", must be OnFailure or Never in a Job: did you mean OnFailure?`}},
		{"a restart policy in small letters", strings.Replace(with(cronJob, "", ""), "Never", "never", 1), []string{`error line 10: spec.jobTemplate.spec.template.spec.restartPolicy: is "never", must be OnFailure or Never in a Job: did you mean Never?`}},
		{"a restart policy like none", strings.Replace(with(job, "", ""), "Never", "Sometimes", 1), []string{`error line 7: spec.template.spec.restartPolicy: is "Sometimes", must be OnFailure or Never in a Job`}},
		{"a policy that needs Never", strings.Replace(with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onExitCodes: {operator: In, values: [137]}"), "Never", "OnFailure", 1), []string{
			"warning line 8: spec.podFailurePolicy.rules[0].onExitCodes: failures with exit code 137 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them",
			`error line 11: spec.template.spec.restartPolicy: is "OnFailure", must be Never with a podFailurePolicy`}},
		{"an error in a later rule", with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: FailJob\n    onExitCodes: {operator: In, values: [137]}\n  - action: Ignor\n    onPodConditions: [{type: DisruptionTarget}]"), []string{
			"warning line 8: spec.podFailurePolicy.rules[0].onExitCodes: a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it",
			`error line 9: spec.podFailurePolicy.rules[1].action: is "Ignor", must be Count, FailIndex, FailJob or Ignore: did you mean Ignore?`}},
		{"an error in an earlier rule leaves the warning no meaning", with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignor\n    onPodConditions: [{type: DisruptionTarget}]\n  - action: FailJob\n    onExitCodes: {operator: In, values: [137]}"), []string{
			`error line 7: spec.podFailurePolicy.rules[0].action: is "Ignor", must be Count, FailIndex, FailJob or Ignore: did you mean Ignore?`}},
		{"a number with an error leaves the notice no meaning", with(job, "SPEC", "activeDeadlineSeconds: 30\nbackoffLimit: 9\nttlSecondsAfterFinished: -1"), []string{
			"error line 7: spec.ttlSecondsAfterFinished: is -1, must be 0 or more"}},
		{"a mistake in a container", with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onExitCodes: {operator: In, values: [137]}\nparallelism: 1") + "        comand: [a]\n", []string{
			"warning line 8: spec.podFailurePolicy.rules[0].onExitCodes: failures with exit code 137 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them",
			"error line 16: spec.template.spec.containers[0].comand: unknown field: did you mean command?"}},
		{"a misspelt deadline leaves the warning no meaning", with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onExitCodes: {operator: In, values: [137]}\nactiveDeadlineSecond: 1"), []string{
			"error line 9: spec.activeDeadlineSecond: unknown field: did you mean activeDeadlineSeconds?"}},
		{"a pod failure policy", with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignor\n    onExitCodes: {operator: In, values: [0]}\n  - action: FailJob"), []string{
			`error line 7: spec.podFailurePolicy.rules[0].action: is "Ignor", must be Count, FailIndex, FailJob or Ignore: did you mean Ignore?`,
			"error line 8: spec.podFailurePolicy.rules[0].onExitCodes.values[0]: is 0, must not be 0 with In, because 0 is success",
			"error line 9: spec.podFailurePolicy.rules[1]: must have onExitCodes or onPodConditions"}},
		{"an ignored failure without an end", with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onExitCodes: {operator: In, values: [137]}"), nil},
		{"an Indexed Job whose name is too long", strings.Replace(with(job, "SPEC", "completionMode: Indexed\ncompletions: 1000000000"), "name: a", "name: "+long+"a", 1),
			[]string{fmt.Sprintf("error line 3: metadata.name: is %q, must be shorter, and without dots: the last pod's host name would be %sa-999999999", long+"a", long)}},
		{"a selector from a cluster", with(job, "SPEC", "selector: {matchLabels: {controller-uid: x}}"),
			[]string{"error line 5: spec.selector: a new Job cannot have one, since the API server sets it: remove it, or set manualSelector"}},
		{"a selector of an object of a cluster", strings.Replace(with(job, "SPEC", "selector: {matchLabels: {controller-uid: x}}"), "name: a", "name: a, uid: x", 1), nil},
		{"a selector of an object with a status", with(job, "SPEC", "selector: {matchLabels: {controller-uid: x}}") + "status: {active: 1}\n", nil},
		{"a selector of an object with an empty status", with(job, "SPEC", "selector: {matchLabels: {controller-uid: x}}") + "status: {}\n",
			[]string{"error line 5: spec.selector: a new Job cannot have one, since the API server sets it: remove it, or set manualSelector"}},
		{"an ephemeral container of a pod of a cluster", strings.Replace(with(pod, "POD", "ephemeralContainers: [{name: e, image: x}]"), "name: a", "name: a, uid: x", 1), nil},
		{"a manual selector", with(job, "SPEC", "manualSelector: true\nselector: {matchLabels: {app: b}}"),
			[]string{"error line 6: spec.selector: must select the labels of the template: app=b does not"}},
		{"a schedule", strings.Replace(with(cronJob, "SPEC", "timeZone: Mars/Base\nconcurrencyPolicy: allow"), "'* * * * *'", "'@dayly'", 1), []string{
			`error line 5: spec.schedule: no macro "@dayly": did you mean @daily?`,
			`error line 6: spec.timeZone: is "Mars/Base": no such time zone: must be a name such as Europe/Berlin or Etc/UTC`,
			`error line 7: spec.concurrencyPolicy: is "allow", must be Allow, Forbid or Replace: did you mean Allow?`}},
		{"a start that is always too late", with(cronJob, "SPEC", "startingDeadlineSeconds: 0"), []string{
			"warning line 6: spec.startingDeadlineSeconds: no Job ever starts, since the controller looks just after its time, which then is too late; use 10 or more"}},
		{"a CronJob whose Jobs have too long a host name", strings.NewReplacer("{name: a}", "{name: "+long[:52]+"}").Replace(with(cronJob, "JOB", "completionMode: Indexed\ncompletions: 100\nparallelism: 2")), []string{
			"warning line 3: metadata.name: the API server refuses each of its Jobs, since the last pod's host name would be such as " + long[:52] + "-29812345-99: use a shorter name without dots"}},
		{"a CronJob whose Jobs are refused for a label", strings.Replace(with(cronJob, "JOB", ""), "      template:\n", "      template:\n        metadata: {labels: {job-name: nightly}}\n", 1), []string{
			"warning line 9: spec.jobTemplate.spec.template.metadata.labels[job-name]: the API server refuses each of its Jobs, since it sets this label itself: remove it"}},
		{"a container that restarts after success", with(job, "CONTAINER", "restartPolicy: Always"), []string{
			"warning line 11: spec.template.spec.containers[0].restartPolicy: the container restarts also after it has succeeded, so the Job never completes; use OnFailure or Never, and no rule for exit code 0"}},
		{"a rule for an exit that restarts in place", strings.Replace(with(job, "SPEC", "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}"), "image: x", "restartPolicy: OnFailure\n        image: x", 1), []string{
			`warning line 5: spec.podFailurePolicy.rules[0].onExitCodes: container "main" restarts in its pod after exit code 42, so this rule never sees that exit`}},
		{"a schedule that never comes", strings.Replace(with(cronJob, "SPEC", "startingDeadlineSeconds: 5"), "'* * * * *'", "0 0 30 2 *", 1), []string{
			`warning line 5: spec.schedule: "0 0 30 2 *" is no day of any year, so no Job ever starts`,
			"warning line 6: spec.startingDeadlineSeconds: a controller that is busy or restarts for so short a time misses starts; use 10 or more"}},
		{"a CronJob's name", strings.Replace(with(cronJob, "", ""), "name: a", "name: "+long, 1),
			[]string{fmt.Sprintf("error line 3: metadata.name: is %q, must be at most 52 letters, since its Jobs' names are 11 longer", long)}},
		{"the Job of a CronJob", with(cronJob, "JOB", "backoffLimit: -1\nselector: {}\nmanualSelector: true"), []string{
			"error line 8: spec.jobTemplate.spec.backoffLimit: is -1, must be 0 or more",
			"error line 9: spec.jobTemplate.spec.selector: must be absent: the API server sets it in each Job",
			"error line 10: spec.jobTemplate.spec.manualSelector: is true, must be false or absent in a CronJob"}},
		{"a pod", with(pod, "POD", "restartPolicy: Sometimes\nactiveDeadlineSeconds: 0\nterminationGracePeriodSeconds: -1\nephemeralContainers: [{name: e, image: x}]"), []string{
			`error line 5: spec.restartPolicy: is "Sometimes", must be Always, OnFailure or Never`,
			"error line 6: spec.activeDeadlineSeconds: is 0, must be from 1 to 2147483647",
			"warning line 7: spec.terminationGracePeriodSeconds: is -1, which counts as 1 second",
			"error line 8: spec.ephemeralContainers: must be absent from a new pod: kubectl debug adds them"}},
		{"restart rules", with(pod, "CONTAINER", "restartPolicyRules:\n- {action: Stop, exitCodes: {operator: Is, values: [1]}}\n- {action: Restart}"), []string{
			"error line 6: spec.containers[0].restartPolicy: required: restartPolicyRules need it beside them",
			`error line 9: spec.containers[0].restartPolicyRules[0].action: is "Stop", must be Restart or RestartAllContainers`,
			`error line 9: spec.containers[0].restartPolicyRules[0].exitCodes.operator: is "Is", must be In or NotIn: did you mean In?`,
			"error line 10: spec.containers[0].restartPolicyRules[1].exitCodes: required: a rule needs them"}},
		{"an error in a later restart rule", with(pod, "CONTAINER", "restartPolicy: OnFailure\nrestartPolicyRules:\n- {action: Restart, exitCodes: {operator: In, values: [1]}}\n- {action: Restart, exitCodes: {operator: In, values: [1]}}\n- {action: Stop, exitCodes: {operator: In, values: [2]}}\n- {action: Restart, exitCodes: {operator: In, values: [1]}}"), []string{
			"warning line 11: spec.containers[0].restartPolicyRules[1]: rule restartPolicyRules[0] decides on every exit that this rule matches; remove this rule, or move it up",
			`error line 12: spec.containers[0].restartPolicyRules[2].action: is "Stop", must be Restart or RestartAllContainers`}},
		{"a mistake in a restart rule", with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules:\n- {action: Restart, exitCodes: {operator: In, values: [0]}}\n- {action: Restart, exitCodes: {operator: In, values: [x]}}"), []string{
			`error line 11: spec.containers[0].restartPolicyRules[1].exitCodes.values[0]: is "x", must be an integer`}},
		{"an error in restartPolicy", with(pod, "CONTAINER", "restartPolicy: Sometimes\nrestartPolicyRules:\n- {action: Restart, exitCodes: {operator: In, values: [1]}}\n- {action: Restart, exitCodes: {operator: In, values: [1]}}"), []string{
			`error line 8: spec.containers[0].restartPolicy: is "Sometimes", must be Always, OnFailure or Never`,
			"warning line 11: spec.containers[0].restartPolicyRules[1]: rule restartPolicyRules[0] decides on every exit that this rule matches; remove this rule, or move it up"}},
		{"a restart rule without effect", with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules:\n- {action: Restart, exitCodes: {operator: In, values: [1]}}\n- {action: Restart, exitCodes: {operator: In, values: [1]}}"), nil},
		{"init containers", with(pod, "POD", "initContainers:\n- {name: main, image: x, livenessProbe: {exec: {command: [a]}}}\n- {name: b, restartPolicy: Always, image: x, lifecycle: {}, startupProbe: {successThreshold: 2}}"), []string{
			`error line 6: spec.initContainers[0].name: is "main": another container of the pod has this name`,
			"error line 6: spec.initContainers[0].livenessProbe: must be absent from an init container without restartPolicy Always",
			"error line 7: spec.initContainers[1].startupProbe: required: a probe needs one of exec, httpGet, tcpSocket and grpc",
			"error line 7: spec.initContainers[1].startupProbe.successThreshold: is 2, must be 1"}},
		{"probes", with(pod, "CONTAINER", "livenessProbe: {exec: {}, grpc: {port: 1}, periodSeconds: -1, terminationGracePeriodSeconds: 0}\nreadinessProbe: {grpc: {port: 1}, successThreshold: 3, terminationGracePeriodSeconds: 1}"), []string{
			"error line 8: spec.containers[0].livenessProbe: must have only one of exec, httpGet, tcpSocket and grpc",
			"error line 8: spec.containers[0].livenessProbe.periodSeconds: is -1, must be 0 or more",
			"error line 8: spec.containers[0].livenessProbe.terminationGracePeriodSeconds: is 0, must be above 0",
			"error line 9: spec.containers[0].readinessProbe.terminationGracePeriodSeconds: is 1, must be absent from a readinessProbe"}},
		{"a Deployment", with(deployment, "POD", "restartPolicy: Never\nactiveDeadlineSeconds: 5"), []string{
			`error line 9: spec.template.spec.restartPolicy: is "Never", must be Always, or absent, in a Deployment`,
			"error line 10: spec.template.spec.activeDeadlineSeconds: is 5, must be absent: a Deployment keeps its pods running"}},
		{"a Deployment's numbers", with(deployment, "SPEC", "replicas: -1\nminReadySeconds: 600"), []string{
			"error line 5: spec.replicas: is -1, must be 0 or more",
			"error line 6: spec.minReadySeconds: progressDeadlineSeconds, 600, must be above minReadySeconds, 600"}},
		{"a selector of nothing", strings.Replace(with(deployment, "", ""), "{app: a}", "{}", 1), []string{"error line 5: spec.selector: must not be empty"}},
		{"no selector", strings.Replace(with(deployment, "", ""), "  selector: {matchLabels: {app: a}}\n", "", 1), []string{"error line 4: spec.selector: required: must select the pods of the template"}},
		{"a name that is none", strings.Replace(with(pod, "", ""), "name: a", "name: A_b, namespace: x.y, labels: {'a b': c d}", 1), []string{
			`error line 3: metadata.name: is "A_b", must be lower case letters, digits, hyphens and dots, with a letter or digit at both ends and beside each dot`,
			`error line 3: metadata.namespace: is "x.y", must be at most 63 lower case letters, digits and hyphens, with a letter or digit at both ends`,
			`error line 3: metadata.labels[a b]: is "a b": the name of a label ` + keyRule,
			`error line 3: metadata.labels[a b]: is "c d", must be at most 63 letters, digits, hyphens, underscores and dots, with a letter or digit at both ends`}},
		{"no name", strings.Replace(with(pod, "", ""), "name: a", "labels: {a: b}", 1), []string{"error line 3: metadata.name: required: an object needs a name or a generateName"}},
		{"a generated name", strings.Replace(with(pod, "", ""), "name: a", "generateName: a-", 1), nil},
		{"a prefix that is none", strings.Replace(with(pod, "", ""), "name: a", "name: a, generateName: A-", 1),
			[]string{`error line 3: metadata.generateName: is "A-", must be lower case letters, digits, hyphens and dots, with a letter or digit at both ends and beside each dot`}},
		{"an Indexed CronJob", with(cronJob, "JOB", "completionMode: Indexed"), []string{"error line 7: spec.jobTemplate.spec.completions: required: completionMode Indexed needs it in a CronJob"}},
		{"an Indexed Job", with(job, "SPEC", "completionMode: Indexed"), nil},
		{"images of a pod with spaces", strings.Replace(with(pod, "POD", "initContainers: [{name: i, image: ' x'}]"), "image: x\n", "image: 'x '\n", 1), []string{
			`error line 5: spec.initContainers[0].image: is " x", must not begin or end with a space`,
			`error line 8: spec.containers[0].image: is "x ", must not begin or end with a space`}},
		{"an image of a template with a space", strings.Replace(with(deployment, "", ""), "image: x}", "image: ' x'}", 1), nil},
		{"an image that is pulled", with(pod, "CONTAINER", "imagePullPolicy: Often"), []string{`error line 8: spec.containers[0].imagePullPolicy: is "Often", must be Always, IfNotPresent or Never`}},
		{"an owner and an account", strings.Replace(with(pod, "POD", "serviceAccountName: $ACCOUNT"), "name: a", "name: a, ownerReferences: [{apiVersion: v1, kind: Node, name: b}]", 1), []string{
			"error line 3: metadata.ownerReferences[0].uid: required: an owner needs it",
			`error line 5: spec.serviceAccountName: is "$ACCOUNT", must be lower case letters, digits, hyphens and dots, with a letter or digit at both ends and beside each dot`}},
		{"a StatefulSet's name", strings.Replace(strings.Replace(with(deployment, "", ""), "Deployment", "StatefulSet", 1), "name: a", "name: "+long, 1),
			[]string{"warning line 3: metadata.name: with 53 letters its pods may not be created: their label controller-revision-hash is the name and up to 11 more, and must be at most 63"}},
		{"an empty pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", []string{"error line 1: spec.containers: required: a pod needs a container"}},
		{"a stop signal", with(pod, "CONTAINER", "lifecycle: {stopSignal: SIGUSR1}"),
			[]string{"warning line 8: spec.containers[0].lifecycle.stopSignal: Kubernetes 1.37 drops it unless the feature gate ContainerStopSignals, off by default, is on: the container is stopped with the signal that its image names, or SIGTERM"}},
	} {
		got := found(tt.text, Options{})
		if tt.want == nil && strings.Contains(tt.name, "without") { // the words are those of lint
			if len(got) == 0 {
				t.Errorf("%s: nothing found", tt.name)
			}
			for _, line := range got {
				if strings.HasPrefix(line, "error") {
					t.Errorf("%s: %s", tt.name, line)
				}
			}
			continue
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestVersions(t *testing.T) {
	rules := with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]")
	for _, tt := range []struct {
		version, text string
		want          []string
	}{
		{"1.35", rules, nil},
		{"1.34", rules, []string{"spec.containers[0].restartPolicy: Kubernetes 1.34 drops it unless", "spec.containers[0].restartPolicyRules: Kubernetes 1.34 drops it unless"}},
		{"v1.33.2", rules, []string{"error line 8: spec.containers[0].restartPolicy: Kubernetes 1.33 refuses the Pod for it", "spec.containers[0].restartPolicyRules: Kubernetes 1.33 does not have the field"}},
		{"1.30", with(cronJob, "JOB", "completionMode: Indexed\ncompletions: 3\nsuccessPolicy: {rules: [{succeededIndexes: '0'}]}"), []string{"spec.jobTemplate.spec.successPolicy: Kubernetes 1.30 drops it unless"}},
		{"1.31", with(job, "SPEC", "completionMode: Indexed\ncompletions: 3\nsuccessPolicy: {rules: [{succeededIndexes: '0'}]}"), nil},
		{"1.32", with(pod, "CONTAINER", "lifecycle: {stopSignal: SIGUSR1}"), []string{"spec.containers[0].lifecycle.stopSignal: Kubernetes 1.32 does not have the field"}},
	} {
		options := Options{Kubernetes: tt.version}
		if err := options.Validate(); err != nil {
			t.Error(err)
		}
		got := found(tt.text, options)
		same := slices.EqualFunc(got, tt.want, func(line, part string) bool {
			return strings.HasPrefix(line, part) || strings.HasPrefix(line, "warning ") && strings.Contains(line, part)
		})
		if !same {
			t.Errorf("%s: got %q, want %q", tt.version, got, tt.want)
		}
	}
	oci := with(pod, "CONTAINER", "securityContext: {seccompProfile: {type: Localhost, oci: {ref: x}}}")
	if got := found(oci, Options{}); !slices.Equal(got, []string{"error line 8: spec.containers[0].securityContext.seccompProfile.oci: Kubernetes 1.37 does not have the field, which came with 1.38"}) {
		t.Errorf("%q", got)
	}
	if got := found(oci, Options{Kubernetes: "1.38"}); len(got) > 0 {
		t.Errorf("%q", got)
	}
	for _, version := range []string{"1", "1.24", "1.39", "2.1", "x", "latest"} {
		if (Options{Kubernetes: version}).Validate() == nil {
			t.Errorf("%s is a version", version)
		}
	}
	if err := (Options{Kubernetes: Newest}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestWorstCase(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{with(job, "", ""), "the Job's own failures and disruptions, such as drained nodes, together: at most 7 pods, 10m30s of waiting"},
		{with(job, "SPEC", "backoffLimit: 0"), "the Job's own failures and disruptions, such as drained nodes, together: at most 1 pod, no waiting"},
		{with(job, "SPEC", "parallelism: 0"), "no pod ever runs"},
		{with(job, "SPEC", "managedBy: example.com/a"), ""},
		{with(job, "SPEC", "suspend: true\nbackoffLimit: 1"), "once it is no longer suspended, the Job's own failures and disruptions, such as drained nodes, together: at most 2 pods, 10s of waiting"},
		{with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onPodConditions: [{type: DisruptionTarget}]"),
			"the Job's own failures: at most 7 pods, 10m30s of waiting; disruptions, such as drained nodes: any number of pods more"},
		{with(job, "SPEC", "backoffLimit: 3\npodFailurePolicy:\n  rules:\n  - action: Count\n    onExitCodes: {operator: NotIn, values: [0]}\n  - action: Ignore\n    onPodConditions: [{type: DisruptionTarget}]"),
			"the Job's own failures and drained nodes, together: at most 4 pods, 1m10s of waiting; disruptions that leave no exit code, such as lost nodes: any number of pods more"},
		{with(cronJob, "JOB", "completionMode: Indexed\ncompletions: 10\nparallelism: 5\nbackoffLimitPerIndex: 1"),
			"for each run, the Job's own failures and disruptions, such as drained nodes, together: at most 20 pods, about 20s of waiting by the clock"},
		{strings.Replace(with(job, "SPEC", "backoffLimit: 3"), "Never", "OnFailure", 1),
			"failing containers restart in their pods, and the Job fails at 3 restarts in all; pods that fail as a whole, on a drained node for example: at most 4 pods, 1m10s of waiting"},
		{strings.Replace(with(job, "SPEC", "completions: 20\nparallelism: 1\nbackoffLimit: 3"), "Never", "OnFailure", 1),
			"failing containers restart in their pods, and the Job fails at 3 restarts of the pods that run at the time; pods that fail as a whole, on a drained node for example: at most 23 pods, 1m10s of waiting"},
		{strings.Replace(with(job, "CONTAINER", "restartPolicy: Never"), "restartPolicy: Never", "restartPolicy: OnFailure", 1),
			"the Job's own failures and disruptions, such as drained nodes, together: at most 7 pods, 10m30s of waiting"},
		{with(job, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"),
			"failing containers restart in their pods, which no limit counts; pods that fail as a whole, on a drained node for example: at most 7 pods, 10m30s of waiting"},
		{strings.Replace(with(job, "SPEC", "activeDeadlineSeconds: 3600"), "image: x", "restartPolicy: OnFailure\n        image: x", 1),
			"failing containers restart in their pods, which no limit counts, until activeDeadlineSeconds, 1h0m0s; pods that fail as a whole, on a drained node for example: at most 7 pods, 10m30s of waiting"},
		{strings.Replace(with(job, "SPEC", "backoffLimit: 0"), "Never", "OnFailure", 1),
			"failing containers restart in their pods, and the Job fails at the first restart; pods that fail as a whole, on a drained node for example: at most 1 pod, no waiting"},
		{strings.Replace(with(cronJob, "JOB", "suspend: true\nbackoffLimit: 2147483647\nactiveDeadlineSeconds: 60"), "Never", "OnFailure", 1),
			"for each run, once it is no longer suspended, failing containers restart in their pods, until activeDeadlineSeconds, 1m0s; pods that fail as a whole, on a drained node for example: at most 3 pods until activeDeadlineSeconds, 1m0s"},
		{with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onExitCodes: {operator: In, values: [42]}"),
			"the Job's own failures: any number of pods, for ever, since a rule ignores them"},
		{with(job, "SPEC", "completionMode: Indexed\ncompletions: 20\nparallelism: 5\nbackoffLimitPerIndex: 3"),
			"the Job's own failures and disruptions, such as drained nodes, together: at most 80 pods, about 4m40s of waiting by the clock"},
		{with(job, "SPEC", "completionMode: Indexed\ncompletions: 20\nparallelism: 5\nbackoffLimitPerIndex: 3\nmaxFailedIndexes: 4"),
			"the Job's own failures and disruptions, such as drained nodes, together: at most 80 pods, about 4m40s of waiting by the clock"},
		{with(job, "SPEC", "completionMode: Indexed\ncompletions: 20\nparallelism: 5\nbackoffLimitPerIndex: 3\nactiveDeadlineSeconds: 100"),
			"the Job's own failures and disruptions, such as drained nodes, together: at most 55 pods until activeDeadlineSeconds, 1m40s"},
		{with(job, "SPEC", "activeDeadlineSeconds: 120"), "the Job's own failures and disruptions, such as drained nodes, together: at most 4 pods until activeDeadlineSeconds, 2m0s"},
		{with(job, "SPEC", "activeDeadlineSeconds: 631"), "the Job's own failures and disruptions, such as drained nodes, together: at most 7 pods, 10m30s of waiting"},
		{strings.Replace(with(job, "SPEC", "activeDeadlineSeconds: 3600\nbackoffLimit: 3"), "Never", "OnFailure", 1),
			"failing containers restart in their pods, and the Job fails at 3 restarts in all, or after 1h0m0s (activeDeadlineSeconds); pods that fail as a whole, on a drained node for example: at most 4 pods, 1m10s of waiting"},
		{with(job, "SPEC", "podFailurePolicy:\n  rules:\n  - action: Ignore\n    onPodConditions: [{type: DisruptionTraget}]"),
			"the Job's own failures and disruptions, such as drained nodes, together: at most 7 pods, 10m30s of waiting"},
		{with(job, "SPEC", "backoffLimit: -1"), ""},
		{with(pod, "", ""), ""},
	} {
		got := ""
		if w := Parse("", []byte(tt.text)).Objects[0].Judge(Options{}).WorstCase; w != nil {
			got = w.String()
		}
		if got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// An object of a cluster has no lines, and what the cluster has set is no mistake.
func TestObjectsOfACluster(t *testing.T) {
	zero := int32(-1)
	live := metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "u"}
	value := &batchv1.Job{ObjectMeta: live, Spec: batchv1.JobSpec{
		BackoffLimit: &zero,
		Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"controller-uid": "u"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"controller-uid": "u"}},
			Spec:       corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "a", Image: "x"}}},
		},
	}}
	object, err := ObjectOf(value)
	if err != nil || object.String() != "Job a" || object.Namespace != "b" || object.Job() != value {
		t.Fatalf("%+v, %v", object, err)
	}
	findings := object.Judge(Options{}).Findings
	if len(findings) != 1 || findings[0].String() != "spec.backoffLimit: is -1, must be 0 or more" {
		t.Errorf("%v", findings)
	}
	for _, one := range []metav1.Object{&batchv1.CronJob{}, &corev1.Pod{}, &appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}} {
		object, err := ObjectOf(one)
		if err != nil || object.Judge(Options{}).Worst() != Error {
			t.Errorf("%T: %v", one, err)
		}
	}
	if _, err := ObjectOf(&corev1.Secret{}); err == nil {
		t.Error("a Secret")
	}
}

func TestJobOfACronJob(t *testing.T) {
	file := Parse("", []byte(with(cronJob, "JOB", "backoffLimit: 2")))
	object := file.Objects[0]
	made := object.Job()
	if made.GenerateName != "a-" || *made.Spec.BackoffLimit != 2 || object.JobPath("spec.backoffLimit") != "spec.jobTemplate.spec.backoffLimit" {
		t.Errorf("%+v", made)
	}
	if line := object.LineOf(object.JobPath("spec.backoffLimit")); line != 8 {
		t.Errorf("line %d", line)
	}
}

// A schedule is looked at from a fixed time, so that a judgement does not depend on the
// day.
func TestLeapDayIsADay(t *testing.T) {
	schedule, err := parseSchedule("0 0 29 2 *")
	if err != nil || schedule.Next(time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		t.Errorf("%v", err)
	}
	if got := found(strings.Replace(with(cronJob, "", ""), "'* * * * *'", "0 0 29 2 *", 1), Options{}); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
