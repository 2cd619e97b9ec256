//go:build long

package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/testenv"
)

// A way is one in which a process ends.
type way struct {
	code    int32
	command string // of a shell whose process id is not 1
}

// waysToEnd are the ways in which containers end. The last but one exceeds memoryLimit.
// The last has the code that containerd gives an exit it missed.
var waysToEnd = []way{
	{0, "exit 0"},
	{1, "exit 1"},
	{137, "kill -KILL $$"},
	{42, "exit 42"},
	{137, "exec dd if=/dev/zero of=/dev/null bs=128M"},
	{255, "exit 255"},
}

const memoryLimit = "64Mi"

// crashScript returns the script of a container that ends runs times, in the ways from
// the given one on, and then sleeps. Each run first adds a line to the diary, a file
// that outlives it, with the code of its coming exit. The number of lines before
// tells it which run it is.
func crashScript(diary string, way, runs int) string {
	var script strings.Builder
	fmt.Fprintf(&script, "case $(wc -l <%s) in\n", diary)
	for run := range runs {
		w := waysToEnd[(way+run)%len(waysToEnd)]
		fmt.Fprintf(&script, "%d) echo %d >>%s; %s;;\n", run, w.code, diary, w.command)
	}
	fmt.Fprintf(&script, "*) echo %s >>%s; exec sleep 2147483647;;\nesac\n", asleep, diary)
	return script.String()
}

// crashingPod returns a pod, every fifth with two containers, and makes the diaries of
// its containers, named POD_CONTAINER.
func crashingPod(t *testing.T, diaries string, i, runs int) *corev1.Pod {
	t.Helper()
	containers := []string{"a"}
	if i%5 == 4 {
		containers = []string{"a", "b"}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crash-%d", i)},
		Spec: corev1.PodSpec{
			ShareProcessNamespace:         new(true), // process 1 of a namespace cannot kill itself
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(1)),
			Volumes: []corev1.Volume{{
				Name:         "diaries",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: diaries}},
			}},
		},
	}
	for j, container := range containers {
		diary := pod.Name + "_" + container
		if err := os.WriteFile(filepath.Join(diaries, diary), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: container, Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever,
			Command:      []string{"sh", "-c", strings.ReplaceAll(crashScript("/diaries/"+diary, i+j, runs), "$", "$$")}, // $$ is $ here
			VolumeMounts: []corev1.VolumeMount{{Name: "diaries", MountPath: "/diaries"}},
			Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)}},
		})
	}
	return pod
}

// readDiaries returns the lines of each diary, by POD/CONTAINER.
func readDiaries(t *testing.T, folder string) map[string][]string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	diaries := map[string][]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		diaries[strings.Replace(f.Name(), "_", "/", 1)] = strings.Fields(string(text))
	}
	return diaries
}

func lines(diaries map[string][]string) (n int) {
	for _, diary := range diaries {
		n += len(diary)
	}
	return n
}
