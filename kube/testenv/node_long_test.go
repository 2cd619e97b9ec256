//go:build long

package testenv

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// staticPod returns a pod with what a kubelet and containerd make folders, mounts and
// cgroups for.
func staticPod(name, script string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			},
			Containers: []corev1.Container{{
				Name: "c", Image: Busybox, ImagePullPolicy: corev1.PullNever,
				Command:      []string{"sh", "-c", script},
				VolumeMounts: []corev1.VolumeMount{{Name: "memory", MountPath: "/memory"}},
			}},
		},
	}
}

func addStaticPod(t *testing.T, n *Node, pod *corev1.Pod) {
	t.Helper()
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(t.TempDir(), "pod.json")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(n.Manifests(), pod.Name+".json")); err != nil {
		t.Fatal(err)
	}
}

// awaitContainer waits until the first container of a static pod is as wanted. It gives
// the kubelet the time that the test has.
func awaitContainer(t *testing.T, n *Node, pod string, wanted func(corev1.ContainerStatus) bool) corev1.ContainerStatus {
	t.Helper()
	var seen corev1.ContainerStatus
	await(t, func() error {
		pods, err := n.Pods(t.Context())
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.Name == pod+"-"+n.Name() && len(p.Status.ContainerStatuses) > 0 {
				seen = p.Status.ContainerStatuses[0]
				if wanted(seen) {
					return nil
				}
			}
		}
		return fmt.Errorf("the container of %s is %+v", pod, seen)
	})
	return seen
}

// await repeats a try until it succeeds, for up to five minutes.
func await(t *testing.T, try func() error) {
	t.Helper()
	give := time.Now().Add(5 * time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(give) {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func isRunning(c corev1.ContainerStatus) bool { return c.State.Running != nil }

func TestContainersGoOnWhileKubeletAndContainerdAreKilled(t *testing.T) {
	n := StartNodeForTest(t, Options{Kubelet: map[string]any{"syncFrequency": "1s"}})
	addStaticPod(t, n, staticPod("lasts", "sleep 100000"))
	addStaticPod(t, n, staticPod("crashes", "exit 3"))
	before := awaitContainer(t, n, "lasts", isRunning)
	if err := n.RestartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.RestartContainerd(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitContainer(t, n, "crashes", func(c corev1.ContainerStatus) bool { // not the 128 of a start that the kill broke off
		return c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.ExitCode == 3
	})
	after := awaitContainer(t, n, "lasts", isRunning)
	if before.ContainerID != after.ContainerID || after.RestartCount != 0 {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := n.RestartKubelet(t.Context()); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a stopped Node: %v", err)
	}
}

func TestTwoNodesRunAtOnce(t *testing.T) {
	skipWithoutNode(t)
	nodes := [2]*Node{}
	var both sync.WaitGroup
	for i := range nodes {
		both.Go(func() {
			n, err := StartNode(t.Context(), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { n.Stop() })
			nodes[i] = n
		})
	}
	both.Wait()
	for i, n := range nodes {
		if n == nil {
			continue
		}
		addStaticPod(t, n, staticPod(fmt.Sprint("of", i), "sleep 100000"))
		awaitContainer(t, n, fmt.Sprint("of", i), isRunning)
		pods, err := n.Pods(t.Context())
		if err != nil || len(pods.Items) != 1 {
			t.Errorf("node %d has %v, %v", i, pods, err)
		}
	}
}

func TestKubeletThatEndsIsAnErrorWithItsWords(t *testing.T) {
	skipWithoutNode(t)
	n, err := StartNode(t.Context(), Options{Kubelet: map[string]any{"maxPods": "many"}})
	if err == nil {
		n.Stop()
		t.Fatal("the kubelet starts")
	}
	if !strings.Contains(err.Error(), "maxPods") {
		t.Errorf("the error does not name the field: %v", err)
	}
}

func TestWholeClusterRunsAJob(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a whole cluster")
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			env := StartForTest(t, Options{Node: true, Version: version, BusyboxNames: []string{"registry.example/busybox:1"}})
			client := kubernetes.NewForConfigOrDie(env.Config())
			if v, err := client.Discovery().ServerVersion(); err != nil || v.Major+"."+v.Minor != version {
				t.Errorf("the server is %v, %v", v, err)
			}
			if nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) != 1 ||
				!strings.HasPrefix(nodes.Items[0].Status.NodeInfo.KubeletVersion, "v"+version+".") {
				t.Errorf("nodes: %v, %v", nodes, err)
			}
			checkJob(t, client)
		})
	}
}

func checkJob(t *testing.T, client *kubernetes.Clientset) {
	jobs := client.BatchV1().Jobs(metav1.NamespaceDefault)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "c", Image: "registry.example/busybox:1", Command: []string{"echo", "hello"}}},
		}}},
	}
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, func() error {
		job, err := jobs.Get(t.Context(), "hello", metav1.GetOptions{})
		if err == nil && job.Status.Succeeded != 1 {
			err = fmt.Errorf("the Job is %+v", job.Status)
		}
		return err
	})
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=hello"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if log, err := pods.GetLogs(list.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(t.Context()); string(log) != "hello\n" {
		t.Errorf("the log is %q, %v", log, err)
	}
}
