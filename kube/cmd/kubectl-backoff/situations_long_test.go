//go:build long

package main

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/testenv"
)

// TestSituationsOnANode compares the first lines about pods and Jobs in trouble on a real
// node with the key facts of their situations. Each is looked at until it says them,
// because a pod passes through other states first.
func TestSituationsOnANode(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a node for a minute or more")
	}
	env := testenv.StartForTest(t, testenv.Options{Node: true})
	client, namespace := clientOf(t, env), env.Namespace(t)
	shell := func(script string) corev1.Container {
		return corev1.Container{
			Name: "main", Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever, Command: []string{"sh", "-c", script},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}
	}
	const stays = "exec sleep 100000"
	with := func(c corev1.Container, change func(*corev1.Container)) corev1.Container { change(&c); return c }
	exec := func(command ...string) corev1.ProbeHandler {
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
	}
	always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
	grace := int64(1)
	pods := map[string]struct {
		spec corev1.PodSpec
		says []string
	}{
		"crash": {corev1.PodSpec{Containers: []corev1.Container{shell("echo no database; exit 3")}},
			[]string{"container main", "ended with exit code 3", `with the last words "no database"`, "it starts again"}},
		"liveness": {corev1.PodSpec{Containers: []corev1.Container{with(shell(stays), func(c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: exec("cat", "/ok"), PeriodSeconds: 1, FailureThreshold: 2}
		})}}, []string{"its probe failed: Liveness probe failed: cat: can't open '/ok'"}},
		"never-pulled": {corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "localhost/missing:1", ImagePullPolicy: corev1.PullNever}}},
			[]string{"container main cannot start (ErrImageNeverPull)"}},
		"no-secret": {corev1.PodSpec{Containers: []corev1.Container{with(shell(stays), func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "P", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "p"}}}}
		})}}, []string{`cannot start (CreateContainerConfigError): secret "db" not found`}},
		"no-command": {corev1.PodSpec{Containers: []corev1.Container{with(shell(""), func(c *corev1.Container) { c.Command = []string{"/app/serve"} })}},
			[]string{"container main", "/app/serve: no such file or directory", "it starts again"}},
		"hook": {corev1.PodSpec{Containers: []corev1.Container{with(shell(stays), func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}}
		})}}, []string{"its postStart hook failed"}},
		"init": {corev1.PodSpec{
			InitContainers: []corev1.Container{with(shell("echo no schema; exit 7"), func(c *corev1.Container) { c.Name = "migrate" })},
			Containers:     []corev1.Container{shell(stays)},
		}, []string{"init container migrate", "ended with exit code 7", `"no schema"`, "the containers after it wait for it"}},
		"sidecar": {corev1.PodSpec{
			InitContainers: []corev1.Container{with(shell(stays), func(c *corev1.Container) { c.Name, c.RestartPolicy = "proxy", &always })},
			Containers:     []corev1.Container{shell("exit 2")},
		}, []string{"container main", "ended with exit code 2"}},
		"restart-all": {corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{with(shell("sleep 1; exit 42"), func(c *corev1.Container) {
			c.RestartPolicy = &never
			c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
		})}}, []string{"a rule restarts all", "no back-off (RestartAllContainers)"}},
		"deadline": {corev1.PodSpec{ActiveDeadlineSeconds: new(int64(1)), Containers: []corev1.Container{shell(stays)}},
			[]string{"it has failed (DeadlineExceeded)", "nothing replaces it"}},
		"no-node": {corev1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"}, Containers: []corev1.Container{shell(stays)}},
			[]string{"it waits for a node: 0/1 nodes are available"}},
	}
	for name, situation := range pods {
		situation.spec.TerminationGracePeriodSeconds = &grace
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: situation.spec}
		eventually(t, name+" is created", func() bool { // not before its service account
			_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			return err == nil
		})
	}
	jobs := map[string]struct {
		policy corev1.RestartPolicy
		spec   batchv1.JobSpec
		says   []string
	}{
		"delayed":  {corev1.RestartPolicyNever, batchv1.JobSpec{}, []string{"its next pod starts in", "after a delay because of a failure", "container main ended with exit code 14"}},
		"in-place": {corev1.RestartPolicyOnFailure, batchv1.JobSpec{BackoffLimit: new(int32(1))}, []string{"it has failed (BackoffLimitExceeded)"}},
		"fail-job": {corev1.RestartPolicyNever, batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{14}},
		}}}}, []string{"it has failed (PodFailurePolicy)", "exit code 14 matching FailJob rule at index 0"}},
		"suspended": {corev1.RestartPolicyNever, batchv1.JobSpec{Suspend: new(true)}, []string{"it is suspended"}},
	}
	for name, situation := range jobs {
		situation.spec.Template.Spec = corev1.PodSpec{RestartPolicy: situation.policy, TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{shell("exit 14")}}
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: situation.spec}
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	says := func(object string, parts []string) {
		first := ""
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s: %s", object, first)
			}
		})
		eventually(t, object+" says "+strings.Join(parts, ", "), func() bool {
			_, stdout, _ := call(t, env, object, "-n", namespace)
			first, _, _ = strings.Cut(stdout, "\n")
			for _, part := range parts {
				if !strings.Contains(first, part) {
					return false
				}
			}
			return true
		})
	}
	for name, situation := range pods {
		says("pod/"+name, situation.says)
	}
	for name, situation := range jobs {
		says("job/"+name, situation.says)
	}
}
