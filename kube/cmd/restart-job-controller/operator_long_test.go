//go:build long

package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// serviceAccount creates a service account with the ClusterRoles, and returns its
// token.
func serviceAccount(t *testing.T, client kubernetes.Interface, name string, roles ...string) (token string) {
	t.Helper()
	const namespace = "restart-system"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	request, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// The program serves the metrics over TLS to permitted tokens, and the probes to
// everyone.
func TestMetricsAreForThoseWhoMay(t *testing.T) {
	env, client := clusterWithRights(t)
	reader := serviceAccount(t, client, "reader", "restart-job-controller-metrics-reader")
	nobody := serviceAccount(t, client, "nobody")
	p := start(t, env, "--metrics-secure")
	eventually(t, "it is ready", func() bool { code, _ := p.get("/readyz"); return code == 200 })
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	get := func(path, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+p.metrics+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return answerOf(insecure.Do(r))
	}
	// The server of metrics makes its certificate first, and listens after the probes do.
	eventually(t, "the metrics are served", func() bool { code, _ := get("/metrics", ""); return code != 0 })
	for _, test := range []struct {
		name, path, token string
		want              int
	}{
		{"without a token", "/metrics", "", 401},
		{"with a wrong token", "/metrics", "wrong", 500}, // controller-runtime's answer
		{"without the right", "/metrics", nobody, 403},
		{"with the right", "/metrics", reader, 200},
	} {
		if code, text := get(test.path, test.token); code != test.want {
			t.Errorf("%s: %d, want %d: %s", test.name, code, test.want, text)
		}
	}
	if code, _ := answerOf(http.Get("http://" + p.metrics + "/metrics")); code == 200 {
		t.Error("the metrics are served without TLS")
	}
	var text string
	eventually(t, "it leads", func() bool {
		_, text = get("/metrics", reader)
		return strings.Contains(text, `leader_election_master_status{name="restart-job-controller"} 1`)
	})
	for _, want := range []string{
		`workqueue_depth{`, `workqueue_queue_duration_seconds_bucket{`, `rest_client_requests_total{`,
		"restart_job_controller_build_info{", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "job_controller_") {
			t.Errorf("a name of Kubernetes' own controller: %s", line)
		}
	}
}

// The policy refuses what the controller would ignore, and nothing else.
func TestPolicyRefusesWhatTheControllerIgnores(t *testing.T) {
	env, client := clusterWithRights(t)
	namespace := env.Namespace(t)
	job := only[*batchv1.Job](t, objectsOf(t, "example-job.yaml"))
	create := func(annotations map[string]string) error {
		try := job.DeepCopy()
		try.Namespace, try.Annotations = namespace, annotations
		_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), try, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	eventually(t, "the policy is in force", func() bool { return create(map[string]string{"restartkit.dev/typo": ""}) != nil })
	for _, annotations := range []map[string]string{
		nil,
		{"example.com/backoff-base": "x"},
		{"restartkit.dev/backoff-bas": "30s"},
		{"restartkit.dev/restart-rules": "[]"},
		{"restartkit.dev/job-memory": "{}"},
		{"restartkit.dev/backoff-base": "1s"},
		{"restartkit.dev/backoff-base": "999ms"},
		{"restartkit.dev/backoff-base": "1m30s"},
		{"restartkit.dev/backoff-base": "+1.5m"},
		{"restartkit.dev/backoff-base": ".5h"},
		{"restartkit.dev/backoff-base": "-1m"},
		{"restartkit.dev/backoff-base": "30"},
		{"restartkit.dev/backoff-base": ""},
		{"restartkit.dev/backoff-base": "soon"},
		{"restartkit.dev/backoff-base": "11m"},
		{"restartkit.dev/backoff-base": "11m", "restartkit.dev/backoff-max": "1h"},
		{"restartkit.dev/backoff-max": "5s"},
		{"restartkit.dev/backoff-max": "168h"},
		{"restartkit.dev/backoff-max": "169h"},
		{"restartkit.dev/backoff-max": "99999999999h"},
		{"restartkit.dev/skip-waiting": "true"},
		{"restartkit.dev/skip-waiting": "F"},
		{"restartkit.dev/skip-waiting": "yes"},
		{"restartkit.dev/ignored-delay": "Own"},
		{"restartkit.dev/ignored-delay": "own"},
	} {
		refused := create(annotations)
		if refused != nil && !strings.Contains(refused.Error(), "restart-job-controller-annotations") {
			t.Fatal(refused)
		}
		if _, mistakes := jobcontroller.WithAnnotations(jobpolicy.Engine{}, annotations); (refused == nil) != (len(mistakes) == 0) {
			t.Errorf("%v: the policy says %v, the controller %v", annotations, refused, mistakes)
		}
	}

	cron := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "cron"},
		Spec:       batchv1.CronJobSpec{Schedule: "@hourly", JobTemplate: batchv1.JobTemplateSpec{Spec: job.Spec}},
	}
	crons := client.BatchV1().CronJobs(namespace)
	if _, err := crons.Create(t.Context(), cron, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	cron.Spec.JobTemplate.Annotations = map[string]string{"restartkit.dev/skip-waiting": "yes"}
	if _, err := crons.Create(t.Context(), cron, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
		t.Error("a CronJob with a mistake is accepted")
	}
}

// Without the permission to list or watch, both probes fail, and the log names it. With
// the permission, both succeed again.
func TestProbesAgreeOnAMissingRight(t *testing.T) {
	env, client := clusterWithRights(t)
	roles := client.RbacV1().ClusterRoles()
	complete, err := roles.Get(t.Context(), "restart-job-controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set := func(rules []rbacv1.PolicyRule) {
		t.Helper()
		role, err := roles.Get(t.Context(), complete.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		role.Rules = rules
		if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, missing := range []struct {
		resource string
		verbs    []string
	}{
		{"pods", []string{"list"}},
		{"pods", []string{"list", "watch"}},
		{"jobs", []string{"list", "watch"}},
	} {
		t.Run(missing.resource+strings.Join(missing.verbs, ""), func(t *testing.T) {
			role := complete.DeepCopy()
			for i := range role.Rules {
				if r := &role.Rules[i]; r.Resources[0] == missing.resource {
					r.Verbs = slices.DeleteFunc(r.Verbs, func(verb string) bool { return slices.Contains(missing.verbs, verb) })
				}
			}
			set(role.Rules)
			p := start(t, env, "--leader-elect=false")
			eventually(t, "both probes fail", func() bool {
				healthy, _ := p.get("/healthz")
				ready, _ := p.get("/readyz")
				return healthy == 500 && ready == 500
			})
			if want := `cannot list resource \"` + missing.resource + `\"`; !strings.Contains(p.String(), want) {
				t.Errorf("the log does not say %s", want)
			}
			set(complete.Rules)
			eventually(t, "both probes are well", func() bool {
				healthy, _ := p.get("/healthz")
				ready, _ := p.get("/readyz")
				return healthy == 200 && ready == 200
			})
		})
	}
}

// With --namespace, and the ClusterRole bound in that namespace only, two replicas take
// turns, no request is forbidden, and Jobs of other namespaces stay as they are.
func TestOneNamespaceWithTheRightsThere(t *testing.T) {
	env, client := clusterWithRights(t)
	theirs, others := env.Namespace(t), env.Namespace(t)
	const name = "restart-job-controller"
	bindings := client.RbacV1()
	everywhere, err := bindings.ClusterRoleBindings().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bindings.ClusterRoleBindings().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := bindings.RoleBindings(theirs).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: everywhere.RoleRef, Subjects: everywhere.Subjects,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	runPods(t, env, theirs, func(pod *corev1.Pod) testenv.Outcome {
		if pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "3" && pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0" {
			return testenv.Outcome{ExitCodes: []int32{7}}
		}
		return testenv.Outcome{}
	})
	create := func(namespace, name string) {
		t.Helper()
		job := only[*batchv1.Job](t, objectsOf(t, "example-job.yaml"))
		job.Name, job.Namespace = name, namespace
		job.Annotations[jobcontroller.AnnotationBaseDelay] = "1s"
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(others, "first")
	leader := start(t, env, "--namespace", theirs)
	eventually(t, "it leads", leader.leads)
	standby := start(t, env, "--namespace", theirs)
	eventually(t, "the second stands by", func() bool { code, _ := standby.get("/readyz"); return code == 200 })
	for _, p := range []*served{leader, standby} {
		eventually(t, "it leads", p.leads)
		job := fmt.Sprintf("job-%d", p.command.Process.Pid)
		create(theirs, job)
		eventually(t, job+" completes", func() bool {
			job, err := client.BatchV1().Jobs(theirs).Get(t.Context(), job, metav1.GetOptions{})
			return err == nil && job.Status.CompletionTime != nil && job.Status.Succeeded == 8 && job.Status.Failed == 1
		})
		if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := p.exits(); code != exitOK {
			t.Errorf("it exits with %d", code)
		}
		if strings.Contains(p.String(), "forbidden") {
			t.Errorf("a permission is missing:\n%s", p)
		}
	}
	job, err := client.BatchV1().Jobs(others).Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil || job.Status.StartTime != nil {
		t.Errorf("the other namespace's Job: %v, %v", job, err)
	}
}

// A Job with a manual selector, whose pods lack the label of Jobs, also ends. From then
// on the program watches all pods.
func TestJobWithAManualSelectorRuns(t *testing.T) {
	env, client := clusterWithRights(t)
	namespace := env.Namespace(t)
	runPods(t, env, namespace, nil)
	p := start(t, env, "--leader-elect=false")
	runs := func(name string, change func(*batchv1.JobSpec)) {
		t.Helper()
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: batchv1.JobSpec{
				ManagedBy: new(jobcontroller.DefaultManagedBy), Completions: new(int32(3)), Parallelism: new(int32(3)),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "none"}},
				}},
			},
		}
		change(&job.Spec)
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" completes", func() bool {
			job, err := client.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && job.Status.CompletionTime != nil && job.Status.Succeeded == 3 && job.Status.Failed == 0
		})
	}
	const switched = "watching all pods from now on"
	runs("first", func(*batchv1.JobSpec) {})
	if strings.Contains(p.String(), switched) {
		t.Error("it watches all pods for a Job without a manual selector")
	}
	runs("manual", func(s *batchv1.JobSpec) {
		s.ManualSelector, s.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "manual"}}
		s.Template.Labels = map[string]string{"app": "manual"}
	})
	if strings.Count(p.String(), switched) != 1 {
		t.Error("it does not say that it watches all pods")
	}
	runs("last", func(*batchv1.JobSpec) {})
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 9 {
		t.Errorf("%d pods of 9: %v", len(pods.Items), err)
	}
}
