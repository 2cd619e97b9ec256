package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// What of a manifest is kept, and what is told to be unused.
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

func TestVariablesAreExpandedAsInKubernetes(t *testing.T) {
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
		e := expander{variables: variables}
		if got, err := e.expand(text); got != want || err != nil {
			t.Errorf("expand(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

// Variables that have each other twice fill no memory, and neither do the words of a
// command.
func TestExpandedTextIsBounded(t *testing.T) {
	c := jobpolicy.Container{Command: []string{"true", "$(V16)"}}
	for i := range 17 {
		before := fmt.Sprintf("$(V%d)", i-1)
		c.Env = append(c.Env, jobpolicy.EnvVar{Name: fmt.Sprintf("V%d", i), Value: before + before})
	}
	none := newConfig("default", envFiles{})
	if _, _, err := none.environment(nil, &jobpolicy.Pod{}, c, containerSources{}); err != nil {
		t.Error(err)
	}
	for range 3 {
		c.Command = append(c.Command, c.Command...)
	}
	if _, _, err := none.environment(nil, &jobpolicy.Pod{}, c, containerSources{}); err != errExpanded {
		t.Errorf("words: %v", err)
	}
	c.Command, c.Env = c.Command[:1], slices.Repeat(c.Env, 1000)
	if _, _, err := none.environment(nil, &jobpolicy.Pod{}, c, containerSources{}); err != errExpanded {
		t.Errorf("variables: %v", err)
	}
	unclosed := strings.Repeat("$(", 2<<20)
	if got, err := new(expander).expand(unclosed); got != unclosed || err != nil {
		t.Error("changed a text without names")
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
	if want := fmt.Sprintf("and %d more", 3*n-document.MostTold); !ok || len(wrong) != document.MostTold+1 || wrong[document.MostTold].String() != want {
		t.Fatalf("%d mistakes, the last %q, want %q", len(wrong), wrong[len(wrong)-1], want)
	}
	m, err := decode(t, job.String(), reading{validate: warn})
	if m != nil || len(err.(mistakes)) != document.MostTold+1 {
		t.Errorf("with warnings: %d mistakes", len(err.(mistakes)))
	}
}

func TestNamesOfJobsAreDNSLabels(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a-b": true, "a.b-c.0": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "a_b": false, "-a": false, "a-": false, "a..b": false, "a.-b": false, "a-.b": false, ".a": false, "a.": false, strings.Repeat("a", 64): false,
	} {
		if got := validJobName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// The API server refuses an Indexed Job of which the last pod could not have its
// host name.
func TestHostNamesOfIndexesAreLabels(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		valid      bool
	}{
		{"a.b", "", true},
		{"a.b", "completions: 3, completionMode: Indexed, ", false},
		{"ab", "completions: 3, completionMode: Indexed, ", true},
		{strings.Repeat("a", 61), "completions: 10, completionMode: Indexed, ", true},
		{strings.Repeat("a", 61), "completions: 11, completionMode: Indexed, ", false},
		{strings.Repeat("a", 63), "completions: 11, ", true},
	} {
		text := strings.Replace(named("Job", "name: "+test.name), "{template", "{"+test.spec+"template", 1)
		_, err := decode(t, text, reading{validate: strictly})
		if test.valid != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "line 3: metadata.name: invalid value") {
			t.Errorf("%s, %s: %v", test.name, test.spec, err)
		}
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
