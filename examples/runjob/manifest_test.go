package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/jobpolicy"
)

// decode reads the Job of a text.
func decode(t *testing.T, text string, how reading) (*manifest, error) {
	t.Helper()
	documents, err := document.ParseAll([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return decodeManifest(documents, how)
}

// Which fields of a manifest are kept, and which are reported as unused.
func TestOnlyWhatIsUsedOfAManifestIsKept(t *testing.T) {
	m, err := decode(t, `
apiVersion: batch/v1
kind: Job
metadata:
  name: decode
  uid: of-another-cluster
  resourceVersion: "7"
  creationTimestamp: null
  finalizers: [foregroundDeletion]
  labels: {a: b}
spec:
  Parallelism: 3 # names are matched to the letter
  completions: null
  unknown: {a: [1]}
  ttlSecondsAfterFinished: 5
  template:
    spec:
      restartPolicy: Never
      nodeName: worker
      volumes: [{name: v}]
      containers:
      - name: main
        image: img
        command: ["true"]
        resources: {limits: {cpu: 1}}
        env:
        - {name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
status: {failed: 3}
`, reading{validate: warn})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jobpolicy.ObjectMeta{Name: "decode", Namespace: "default", Labels: map[string]string{"a": "b"}}, m.job.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	if m.job.Status.Failed != 0 || *m.job.Spec.Parallelism != 1 {
		t.Errorf("job %+v", m.job)
	}
	if got := m.sources["main"].Value; got[0].FieldRef.FieldPath != "metadata.name" || got[1].SecretKeyRef.Key != "k" {
		t.Errorf("sources %+v", got)
	}
	unused := []string{"metadata.resourceVersion", "spec.template.spec.volumes", "spec.template.spec.containers[0].resources", "status", "spec.ttlSecondsAfterFinished", "spec.template.spec.nodeName", "image img"}
	if diff := cmp.Diff(unused, m.ignored); diff != "" {
		t.Error(diff)
	}
	warnings := []string{"line 12: spec.Parallelism: unknown field: did you mean parallelism?", "line 14: spec.unknown: unknown field"}
	if diff := cmp.Diff(warnings, m.warnings); diff != "" {
		t.Error(diff)
	}
}

// Of those that nobody would read there is the number.
func TestManyMistakesAreCounted(t *testing.T) {
	t.Parallel()
	const n = 5000
	var job strings.Builder
	job.WriteString("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n")
	for i := range n {
		fmt.Fprintf(&job, "  nothing like %d: 1\n", i)
	}
	job.WriteString("  template:\n    spec:\n      restartPolicy: Never\n      containers:\n" + strings.Repeat("      - {}\n", n))
	_, err := decode(t, job.String(), reading{validate: strictly})
	wrong, ok := err.(mistakes)
	if want := fmt.Sprintf("and %d more", 3*n-document.MaxReported); !ok || len(wrong) != document.MaxReported+1 || wrong[document.MaxReported].String() != want {
		t.Fatalf("%d mistakes, the last %q, want %q", len(wrong), wrong[len(wrong)-1], want)
	}
	m, err := decode(t, job.String(), reading{validate: warn})
	if m != nil || len(err.(mistakes)) != document.MaxReported+1 {
		t.Errorf("with warnings: %d mistakes", len(err.(mistakes)))
	}
}

// Any text is a valid Job or an error that says where.
func FuzzManifest(f *testing.F) {
	for _, pattern := range []string{"../testdata/*.yaml", "../testdata/bad/*.[yj]*"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		documents, err := document.ParseAll(text)
		if err != nil {
			return
		}
		m, err := decodeManifest(documents, reading{validate: strictly})
		if err != nil {
			var wrong mistakes
			if errors.As(err, &wrong) {
				for _, one := range wrong {
					if path, _, _ := strings.Cut(one.text, ": "); path == "" {
						t.Errorf("a mistake without a path: %v", one)
					}
				}
			}
			return
		}
		if err := m.job.Spec.Validate(); err != nil {
			t.Errorf("decoded, but invalid: %v", err)
		}
		if len(m.job.Spec.Template.Spec.Containers[0].Command) == 0 {
			t.Error("nothing to run")
		}
	})
}
