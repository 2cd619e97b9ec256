package jobrun

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// The syntax is that of Kubernetes.
func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"plain":              "plain",
		"$(A)$(B)":           "ab",
		"$(A":                "$(A",
		"$(MISSING) $(A)":    "$(MISSING) a",
		"$$(A) $$$(A) $$$$":  "$(A) $a $$",
		"$A $":               "$A $",
		"$()":                "$()",
		"$(NESTED) $(A$(B))": "$(A) $(A$(B))",
	} {
		e := expander{variables: map[string]string{"A": "a", "B": "b", "NESTED": "$(A)"}}
		if got, err := e.expand(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	e := expander{variables: map[string]string{"A": strings.Repeat("a", 1<<20)}}
	if _, err := e.expand(strings.Repeat("$(A)", 5)); !errors.Is(err, errExpanded) {
		t.Errorf("error %v", err)
	}
}

// A machine's variable is replaced by the container's of that name.
func TestCommandLine(t *testing.T) {
	h := &host{machine: []string{"PATH=/bin", "A=machine"}, values: map[string]string{"KEY": "value"}}
	pod := &batch.Pod{}
	pod.Name = "pod"
	argv, env, err := h.commandLine(pod, &corev1.Container{
		Command: []string{"run", "$(A)"}, Args: []string{"$(PATH)"},
		Env:     []corev1.EnvVar{{Name: "A", Value: "own"}, {Name: "B", Value: "$(A) $(KEY)"}},
		EnvFrom: []corev1.EnvFromSource{{Prefix: "p_"}, {}},
	})
	if err != nil || strings.Join(argv, ",") != "run,own,$(PATH)" {
		t.Errorf("%q, %v", argv, err)
	}
	if want := "PATH=/bin,A=own,B=own value,HOSTNAME=pod,KEY=value,p_KEY=value"; strings.Join(env, ",") != want {
		t.Errorf("%q, want %s", env, want)
	}
}

func TestFieldOf(t *testing.T) {
	pod := &batch.Pod{}
	pod.Name, pod.Namespace, pod.UID = "n", "ns", "u"
	pod.Labels, pod.Annotations = map[string]string{"a/b": "label"}, map[string]string{"c": "annotation"}
	for path, want := range map[string]string{
		"metadata.name": "n", "metadata.namespace": "ns", "metadata.uid": "u", "status.podIP": "127.0.0.1",
		"metadata.labels['a/b']": "label", "metadata.annotations['c']": "annotation", "metadata.labels['none']": "",
	} {
		if got, found := fieldOf(pod, path); got != want || !found {
			t.Errorf("%s: %q, %v, want %q", path, got, found, want)
		}
	}
	for _, path := range []string{"metadata.labels", "spec.serviceAccountName", ""} {
		if got, found := fieldOf(pod, path); found {
			t.Errorf("%s: %q", path, got)
		}
	}
}
