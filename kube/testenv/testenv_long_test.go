//go:build long

package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestServerKeepsWhatItHasAcrossARestartOfEtcd(t *testing.T) {
	env := StartForTest(t, Options{})
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	namespace := env.Namespace(t)
	if err := env.RestartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	for give := time.Now().Add(2 * time.Minute); ; { // the first calls may still fail
		_, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err == nil {
			break
		}
		if apierrors.IsNotFound(err) || time.Now().After(give) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := env.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(env.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stop left the folder: %v", err)
	}
	if err := env.RestartEtcd(t.Context()); err == nil {
		t.Error("a stopped Environment restarts etcd")
	}
}

func TestBadFlagIsAnErrorWithTheServersWords(t *testing.T) {
	skipUnlessWanted(t)
	env, err := Start(t.Context(), Options{Flags: []string{"--no-such-flag"}})
	if err == nil {
		env.Stop()
		t.Fatal("the server starts")
	}
	if !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("the error does not name the flag: %v", err)
	}
}

// The test runs itself as the killed process.
func TestKilledProcessLeavesNothing(t *testing.T) {
	if os.Getenv("TESTENV_VICTIM") == "1" {
		env, err := Start(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("victim %s %d %d\n", env.dir, env.etcd.pid, env.server.pid)
		select {}
	}
	skipUnlessWanted(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLeavesNothing$")
	cmd.Env = append(os.Environ(), "TESTENV_VICTIM=1")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	var ids [2]int
	for lines := bufio.NewScanner(output); dir == "" && lines.Scan(); {
		fmt.Sscanf(lines.Text(), "victim %s %d %d", &dir, &ids[0], &ids[1])
	}
	if dir == "" {
		t.Fatalf("the victim ended: %v", cmd.Wait())
	}
	for _, id := range ids {
		if !runs(id) {
			t.Fatalf("process %d does not run", id)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for {
		_, err := os.Stat(dir)
		if errors.Is(err, os.ErrNotExist) && !runs(ids[0]) && !runs(ids[1]) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// runs reports whether a process exists and is no zombie.
func runs(id int) bool {
	if syscall.Kill(id, 0) != nil {
		return false
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	return err != nil || !strings.Contains(string(text), ") Z ")
}

func TestKubeletRunsPodsByTheirScript(t *testing.T) {
	env := ForTest(t)
	namespace := env.Namespace(t)
	client := kubernetes.NewForConfigOrDie(env.Config()).CoreV1().Pods(namespace)
	disrupted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "Test"}
	scripts := map[string]Outcome{
		"succeeds":  {},
		"fails":     {ExitCodes: []int32{0, 42}, Restarts: 3, Run: 10 * time.Millisecond},
		"disrupted": {ExitCodes: []int32{137}, Conditions: []corev1.PodCondition{disrupted}, Reason: "Evicted"},
		"direct":    {Direct: true, Phase: corev1.PodFailed},
		"pending":   {Pending: true},
		"forever":   {Forever: true, Stop: 50 * time.Millisecond},
		"kept":      {Forever: true},
	}
	kubelet, err := NewKubelet(KubeletOptions{
		Config: env.Config(), Namespace: namespace,
		Script: func(pod *corev1.Pod) Outcome { return scripts[pod.Name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- kubelet.Run(ctx) }()
	for name := range scripts {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "a", Image: "x"}, {Name: "b", Image: "x"}},
			},
		}
		if name == "kept" {
			pod.Finalizers = []string{"example.com/kept"}
		}
		if _, err := client.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await := func(name string, ok func(*corev1.Pod) bool) *corev1.Pod {
		t.Helper()
		for {
			pod, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if ok(pod) {
				return pod
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	phase := func(p corev1.PodPhase) func(*corev1.Pod) bool {
		return func(pod *corev1.Pod) bool { return pod.Status.Phase == p }
	}
	await("succeeds", phase(corev1.PodSucceeded))
	fails := await("fails", phase(corev1.PodFailed))
	if code := fails.Status.ContainerStatuses[1].State.Terminated.ExitCode; code != 42 || fails.Status.ContainerStatuses[1].RestartCount != 3 {
		t.Errorf("fails: %+v", fails.Status.ContainerStatuses)
	}
	evicted := await("disrupted", phase(corev1.PodFailed))
	if evicted.Status.Reason != "Evicted" || !hasCondition(evicted, corev1.DisruptionTarget) {
		t.Errorf("disrupted: %+v", evicted.Status)
	}
	if direct := await("direct", phase(corev1.PodFailed)); direct.Spec.NodeName != "" {
		t.Errorf("direct: was on node %q", direct.Spec.NodeName)
	}
	for _, name := range []string{"forever", "kept"} {
		await(name, phase(corev1.PodRunning))
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kept := await("kept", func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodFailed && *pod.DeletionGracePeriodSeconds == 0
	})
	if code := kept.Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 143 {
		t.Errorf("kept: exit code %d", code)
	}
	for {
		list, err := client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=forever"})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if pending := await("pending", func(*corev1.Pod) bool { return true }); pending.Status.Phase != corev1.PodPending || pending.Spec.NodeName != "" {
		t.Errorf("pending: %+v", pending.Status)
	}
	want := KubeletCounts{Bound: 5, Started: 5, Ended: 4, Stopped: 2, Removed: 2}
	// The server has done everything, and the kubelet counts a step once it has the
	// answer.
	for give := time.Now().Add(2 * time.Minute); kubelet.Counts() != want && time.Now().Before(give); {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := kubelet.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
