//go:build long

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// The API server accepts every object of the manifests, and the example.
func TestServerTakesTheManifests(t *testing.T) {
	env := testenv.ForTest(t)
	apply := newApplier(t, env.Config())
	for _, d := range append(manifests(t), objectsOf(t, "example-job.yaml")...) {
		apply.apply(t, d, metav1.DryRunAll)
		if _, ok := d.object.(*corev1.Namespace); ok {
			apply.apply(t, d) // the others are in it
		}
	}
}

// served is a program with the addresses that it serves.
type served struct {
	*program
	address string // of the probes
	metrics string // of the metrics
}

// start starts a replica that listens, with the service account of the manifests.
func start(t *testing.T, env *testenv.Environment, args ...string) *served {
	t.Helper()
	p := &served{address: freeAddress(t), metrics: freeAddress(t)}
	p.program = startProgram(t, append([]string{
		"--health-probe-bind-address", p.address, "--metrics-bind-address", p.metrics,
		"--kubeconfig", accountKubeconfig(t, env), "--metrics-secure=false",
		"--leader-elect", "--leader-elect-resource-namespace=restart-system", "--leader-elect-retry-period=1s",
	}, args...)...)
	return p
}

// freeAddress returns an unused address.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// get requests a path of the program. It returns 0 without an answer.
func (p *served) get(path string) (int, string) {
	address := p.address
	if path == "/metrics" {
		address = p.metrics
	}
	return answerOf(http.Get("http://" + address + path))
}

func (p *served) leads() bool {
	_, text := p.get("/metrics")
	return strings.Contains(text, "leader_election_master_status{name=\"restart-job-controller\"} 1\n")
}

// With only the permissions of the manifests, one of two replicas runs a Job to its
// end. The other continues when the first ends or is killed.
func TestReplicasTakeTurns(t *testing.T) {
	env, client := clusterWithRights(t)
	namespace := env.Namespace(t)
	runPods(t, env, namespace, func(pod *corev1.Pod) testenv.Outcome {
		if pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "3" && pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0" {
			return testenv.Outcome{ExitCodes: []int32{7}}
		}
		return testenv.Outcome{}
	})

	example := only[*batchv1.Job](t, objectsOf(t, "example-job.yaml"))
	runs := func(name string) {
		t.Helper()
		job := example.DeepCopy()
		job.Name, job.Namespace = name, namespace
		job.Annotations[jobcontroller.AnnotationBaseDelay] = "1s"
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" completes", func() bool {
			job, err := client.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && job.Status.CompletionTime != nil && job.Status.Succeeded == 8 && job.Status.Failed == 1
		})
	}
	leader, standby := start(t, env), (*served)(nil)
	eventually(t, "the first replica leads", leader.leads)
	eventually(t, "it is ready", func() bool { code, _ := leader.get("/readyz"); return code == 200 })
	runs("first")
	eventually(t, "the Job is counted", func() bool {
		_, text := leader.get("/metrics")
		return strings.Contains(text, `restart_job_finished_total{completion_mode="Indexed",reason="CompletionsReached",result="succeeded"} 1`)
	})

	standby = start(t, env)
	eventually(t, "the second stands by", func() bool { code, _ := standby.get("/readyz"); return code == 200 })
	if standby.leads() {
		t.Error("both lead")
	}
	if err := leader.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := leader.exits(); code != exitOK {
		t.Errorf("the first exits with %d", code)
	}
	eventually(t, "the second leads", standby.leads)
	runs("second")

	third := start(t, env)
	eventually(t, "the third stands by", func() bool { code, _ := third.get("/readyz"); return code == 200 })
	if err := standby.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	standby.exits()
	eventually(t, "the third leads", third.leads)
	runs("third")

	// Another client takes the Lease away.
	leases := client.CoordinationV1().Leases("restart-system")
	eventually(t, "the Lease is taken away", func() bool {
		lease, err := leases.Get(t.Context(), "restart-job-controller", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lease.Spec.HolderIdentity = new("somebody")
		lease.Spec.LeaseDurationSeconds = new(int32(3600))
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err == nil
	})
	if code := third.exits(); code != exitFailed || !strings.Contains(third.String(), "leader election lost") {
		t.Errorf("without the Lease it exits with %d, want %d", code, exitFailed)
	}

	// No request was forbidden, and each line of the logs is an object.
	for _, p := range []*served{leader, standby, third} {
		if strings.Contains(p.String(), "forbidden") {
			t.Errorf("a permission is missing:\n%s", p)
		}
		for line := range strings.Lines(p.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
	}
	events, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) == 0 {
		t.Errorf("%d Events: %v", len(events.Items), err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if len(pod.Finalizers) > 0 {
			t.Errorf("pod %s has the finalizers %v", pod.Name, pod.Finalizers)
		}
	}
	t.Log(fmt.Sprint(len(pods.Items), " pods, ", len(events.Items), " Events"))
}

func answerOf(r *http.Response, err error) (int, string) {
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(text)
}
