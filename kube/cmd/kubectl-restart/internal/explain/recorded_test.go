package explain

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the recorded texts instead of comparing them")

// noon is the time of all recorded texts.
var noon = Options{Now: time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC), ServerVersion: "v1.37.2"}

// situation holds the objects of a file in testdata.
type situation struct {
	pods []*corev1.Pod
	jobs []*batchv1.Job
}

func readSituation(t testing.TB, file string) (s situation) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		var err error
		switch kind.Kind {
		case "Pod":
			pod := &corev1.Pod{}
			err = yaml.UnmarshalStrict([]byte(document), pod)
			s.pods = append(s.pods, pod)
		case "Job":
			job := &batchv1.Job{}
			err = yaml.UnmarshalStrict([]byte(document), job)
			s.jobs = append(s.jobs, job)
		default:
			t.Fatalf("%s: kind %q", file, kind.Kind)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return s
}

// podsOf returns the pods of a Job, and those of none for nil.
func (s situation) podsOf(job *batchv1.Job) (all []*corev1.Pod) {
	for _, p := range s.pods {
		owner := metav1.GetControllerOf(p)
		if job == nil && owner == nil || job != nil && owner != nil && owner.UID == job.UID {
			all = append(all, p)
		}
	}
	return all
}

func (s situation) lint(t *testing.T) []Group {
	t.Helper()
	var subjects []Subject
	for _, job := range s.jobs {
		subjects = append(subjects, Subject{Kind: "Job", Meta: &job.ObjectMeta, Path: "spec", Job: &job.Spec, Object: job})
	}
	for _, p := range s.pods {
		subjects = append(subjects, Subject{Kind: "Pod", Meta: &p.ObjectMeta, Path: "spec", Pod: &p.Spec, Object: p})
	}
	groups, err := Lint(subjects, "")
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// text prints everything about the objects, each part under the command that prints it.
func (s situation) text(t *testing.T, o Options) string {
	var b bytes.Buffer
	w := Printer{W: &b, Options: o}
	part := func(format string, args ...any) { fmt.Fprintf(&b, "$ kubectl restart "+format+"\n", args...) }
	for _, p := range s.podsOf(nil) {
		part("explain pod/%s", p.Name)
		w.Pod(OfPod(p, o))
		b.WriteString("\n")
		if x := Compare(p, o); len(x) > 0 && x[0].Impossible == "" || len(x) > 1 {
			part("compare pod/%s", p.Name)
			w.Compare(p.Namespace, p.Name, x)
			b.WriteString("\n")
		}
	}
	for _, job := range s.jobs {
		part("explain job/%s", job.Name)
		w.Job(OfJob(job, s.podsOf(job), o))
		b.WriteString("\n")
	}
	part("next -A")
	w.Next(Next(s.pods, s.jobs, o))
	if groups := s.lint(t); len(groups) > 0 {
		b.WriteString("\n")
		part("lint -A")
		w.Groups(groups)
	}
	return b.String()
}

// The recorded texts of eight situations, and of one with mistakes. Each begins with a comment in its YAML file.
func TestRecordedTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 9 {
		t.Fatalf("%d situations, want 9", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			got := readSituation(t, file).text(t, noon)
			recorded := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(recorded, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(recorded)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the text differs from %s; run with -update and look at the difference:\n%s", recorded, got)
			}
		})
	}
}
