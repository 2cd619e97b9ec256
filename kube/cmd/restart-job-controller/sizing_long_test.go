//go:build long

package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

var sizing = flag.String("sizing", "", "measure the program's memory with so many Jobs of so many pods each, as 1x10000,2000x1")

// TestSizing prints how much memory the program takes for Jobs whose pods all run, for the
// section Sizing of kube/README.md. By hand: it needs -sizing and an API server.
func TestSizing(t *testing.T) {
	if *sizing == "" {
		t.Skip("measures only with -sizing")
	}
	for load := range strings.SplitSeq(*sizing, ",") {
		t.Run(load, func(t *testing.T) {
			var jobs, pods int32
			if n, err := fmt.Sscanf(load, "%dx%d", &jobs, &pods); n != 2 || jobs < 1 || pods < 1 {
				t.Fatalf("-sizing %s: %v", load, err)
			}
			env, client := clusterWithRights(t)
			namespace := env.Namespace(t)
			runPods(t, env, namespace, func(*corev1.Pod) testenv.Outcome { return testenv.Outcome{Forever: true} })
			p := start(t, env, "--kube-api-qps=0", "--leader-elect=false")
			eventually(t, "it runs Jobs", func() bool { return strings.Contains(p.String(), "running Jobs") })
			t.Logf("without Jobs: %s", p.memory(t))
			for i := range jobs {
				job := &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%d", i)},
					Spec: batchv1.JobSpec{
						ManagedBy: new(jobcontroller.DefaultManagedBy), CompletionMode: new(batchv1.IndexedCompletion), Completions: &pods, Parallelism: &pods,
						Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
							RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "none"}},
						}},
					},
				}
				if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for active := int32(0); active < jobs*pods; { // as long as the test may run
				eventually(t, "more pods run", func() bool {
					list, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
					before := active
					active = 0
					for i := 0; err == nil && i < len(list.Items); i++ {
						active += list.Items[i].Status.Active
					}
					return active > before || active == jobs*pods
				})
			}
			t.Logf("%d Jobs of %d pods: %s", jobs, pods, p.memory(t))
		})
	}
}

// memory returns the program's resident memory, as Linux counts it.
func (p *program) memory(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)VmHWM:\s*(\d+ kB).*VmRSS:\s*(\d+ kB)`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("%s", status)
	}
	return fmt.Sprintf("resident %s, at the most %s", found[2], found[1])
}
