package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/jobpolicy"
)

// TestDecode: what of a manifest is kept, and what is told to be unused.
func TestDecode(t *testing.T) {
	found, err := document.Parse([]byte(`
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
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: img
        command: ["true"]
        env:
        - {name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
status: {failed: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := decodeManifest(found, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jobpolicy.ObjectMeta{Name: "decode", Namespace: "default", Labels: map[string]string{"a": "b"}}, m.job.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	if m.job.Status.Failed != 0 || *m.job.Spec.Parallelism != 1 {
		t.Errorf("job %+v", m.job)
	}
	if diff := cmp.Diff(fieldRefs{"main": {"A": "metadata.name"}}, m.fields); diff != "" {
		t.Error(diff)
	}
	unused := []string{"status", "metadata.resourceVersion", "spec.Parallelism", "spec.template.spec.containers[0].env[1].valueFrom", "spec.unknown", "image img"}
	if diff := cmp.Diff(unused, m.ignored); diff != "" {
		t.Error(diff)
	}
}

func TestExpand(t *testing.T) {
	variables := map[string]string{"A": "1", "EMPTY": "", "NESTED": "$(A)"}
	for text, want := range map[string]string{
		"":                "",
		"plain":           "plain",
		"$(A)":            "1",
		"x$(A)y$(A)":      "x1y1",
		"$(EMPTY)":        "",
		"$(NESTED)":       "$(A)", // once
		"$(MISSING)":      "$(MISSING)",
		"$$(A)":           "$(A)",
		"$$$(A)":          "$1",
		"$A ${A} $( A) $": "$A ${A} $( A) $",
		"$(A":             "$(A",
		"$($(A))":         "$($(A))",
	} {
		if got := expand(text, variables); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}

// FuzzManifest: any text is a valid Job or an error that says where.
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
		found, err := document.Parse(text)
		if err != nil {
			return
		}
		m, err := decodeManifest(found, nil)
		if err != nil {
			var mistakes jobpolicy.FieldErrors
			if errors.As(err, &mistakes) {
				for _, e := range mistakes {
					if e.Field == "" {
						t.Errorf("a mistake without a path: %v", err)
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
