package jobfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// strict is how a program reads that runs the Job as processes.
var strict = Reading{Validate: Strict, Processes: true}

// decode reads the Job of a text.
func decode(t *testing.T, text string, how Reading) (*Manifest, error) {
	t.Helper()
	documents, err := document.ParseAll([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Decode(documents, how)
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
        restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
        env:
        - {name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
status: {failed: 3}
`, Reading{Validate: Warn, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(batch.ObjectMeta{Name: "decode", Namespace: "default", Labels: map[string]string{"a": "b"}}, m.Job.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	if m.Job.Status.Failed != 0 || *m.Job.Spec.Parallelism != 1 {
		t.Errorf("job %+v", m.Job)
	}
	if got := m.Sources["main"].Value; got[0].FieldRef.FieldPath != "metadata.name" || got[1].SecretKeyRef.Key != "k" {
		t.Errorf("sources %+v", got)
	}
	unused := []string{"metadata.resourceVersion", "spec.ttlSecondsAfterFinished", "spec.template.spec.nodeName", "spec.template.spec.volumes", "spec.template.spec.containers[0].resources",
		"spec.template.spec.containers[0].restartPolicyRules", "status", "image img"}
	if diff := cmp.Diff(unused, m.Ignored); diff != "" {
		t.Error(diff)
	}
	warnings := []string{"line 12: spec.Parallelism: unknown field: did you mean parallelism?", "line 14: spec.unknown: unknown field"}
	if diff := cmp.Diff(warnings, m.Warnings); diff != "" {
		t.Error(diff)
	}
}

// A long list ends with the number of omitted items.
func TestManyMistakesAreCounted(t *testing.T) {
	t.Parallel()
	const n = 5000
	var job strings.Builder
	job.WriteString("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n")
	for i := range n {
		fmt.Fprintf(&job, "  nothing like %d: 1\n", i)
	}
	job.WriteString("  template:\n    spec:\n      restartPolicy: Never\n      containers:\n" + strings.Repeat("      - {}\n", n))
	_, err := decode(t, job.String(), strict)
	wrong, ok := err.(document.Mistakes)
	if want := fmt.Sprintf("and %d more", 3*n-document.MaxReported); !ok || len(wrong) != document.MaxReported+1 || wrong[document.MaxReported].String() != want {
		t.Fatalf("%d mistakes, the last %q, want %q", len(wrong), wrong[len(wrong)-1], want)
	}
	m, err := decode(t, job.String(), Reading{Validate: Warn, Processes: true})
	if m != nil || len(err.(document.Mistakes)) != document.MaxReported+1 {
		t.Errorf("with warnings: %d mistakes", len(err.(document.Mistakes)))
	}
}

// Any text is a valid Job or an error that says where.
func FuzzManifest(f *testing.F) {
	for _, pattern := range []string{"../../testdata/*.yaml", "../../testdata/bad/*.[yj]*"} {
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
		m, err := Decode(documents, strict)
		if err != nil {
			var wrong document.Mistakes
			if errors.As(err, &wrong) {
				for _, one := range wrong {
					if path, _, _ := strings.Cut(one.Detail, ": "); path == "" {
						t.Errorf("a mistake without a path: %v", one)
					}
				}
			}
			return
		}
		if err := m.Job.Spec.Validate(); err != nil {
			t.Errorf("decoded, but invalid: %v", err)
		}
		if len(m.Job.Spec.Template.Spec.Containers[0].Command) == 0 {
			t.Error("nothing to run")
		}
	})
}

// The name of a rule is read, with a warning that a cluster does not read it.
func TestRuleNamesAreReadWithAWarning(t *testing.T) {
	const text = `
apiVersion: batch/v1
kind: Job
metadata: {name: named}
spec:
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget}]
    - name: OutOfMemory
      action: FailJob
      onExitCodes: {operator: In, values: [137]}
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: i, command: ["true"]}]}}
`
	warning := []string{"line 10: spec.podFailurePolicy.rules[1].name: no Kubernetes up to 1.38 knows this field; kubectl refuses it unless --validate=warn"}
	for how, want := range map[Validation][]string{Strict: warning, Warn: warning, Ignore: nil} {
		m, err := decode(t, text, Reading{Validate: how, Processes: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.Warnings); diff != "" || m.Job.Spec.PodFailurePolicy.Rules[1].Name != "OutOfMemory" {
			t.Errorf("%s: %+v %s", how, m.Job.Spec.PodFailurePolicy.Rules, diff)
		}
	}
}
