package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy"
)

const small = `apiVersion: batch/v1
kind: Job
metadata: {name: small}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, command: ["true"]}]}}}
`

// TestDocuments: what counts as one document.
func TestDocuments(t *testing.T) {
	for name, test := range map[string]struct{ text, err string }{
		"plain":             {small, ""},
		"byte order mark":   {"\ufeff" + small, ""},
		"line ends of DOS":  {strings.ReplaceAll(small, "\n", "\r\n"), ""},
		"markers":           {"# comment\n---\n" + small + "---\n# nothing\n---\n", ""},
		"marker with text":  {"--- # the Job\n" + small, ""},
		"end marker":        {small + "...\n", ""},
		"JSON":              {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"m","command":["true"]}]}}}}`, ""},
		"flow with comment": {"{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, command: [x]}]}}}} # YAML", ""},
		"two":               {small + "---\n" + small, "2 documents"},
		"dashes in a value": {strings.Replace(small, `"true"`, `"--- no marker"`, 1), ""},
		"line numbers":      {"# a\n---\n# b\n---\na: 1\n b: 2\n", "line 6"},
		"nothing":           {" \n\n", "empty"},
		"null":              {"null", "not a Job"},
		"two JSON values":   {`{} {}`, "2 documents"},
		"text behind":       {small + "...\nmore", "2 documents"},
		"many aliases":      {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n", "aliasing"},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := parseDocument([]byte(test.text))
			if err == nil {
				_, err = decodeManifest(document, nil)
			}
			switch {
			case test.err == "" && err != nil:
				t.Error(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want %s", err, test.err)
			}
		})
	}
}

// TestDecode: what of a manifest is kept, and what is told to be unused.
func TestDecode(t *testing.T) {
	document, err := parseDocument([]byte(`
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
	m, err := decodeManifest(document, nil)
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
		document, err := parseDocument(text)
		if err != nil {
			return
		}
		m, err := decodeManifest(document, nil)
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
