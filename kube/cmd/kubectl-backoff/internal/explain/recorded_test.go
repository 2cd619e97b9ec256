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
var noon = Options{Now: time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)}

// readSituation returns the objects of a file in testdata.
func readSituation(t testing.TB, file string) (o Objects) {
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
		var object any
		switch kind.Kind {
		case "Pod":
			pod := &corev1.Pod{}
			o.Pods, object = append(o.Pods, pod), pod
		case "Job":
			job := &batchv1.Job{}
			o.Jobs, object = append(o.Jobs, job), job
		case "Event":
			event := &corev1.Event{}
			o.Events, object = append(o.Events, event), event
		case "Node":
			node := &corev1.Node{}
			o.Nodes, object = append(o.Nodes, node), node
		default:
			t.Fatalf("%s: kind %q", file, kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return o
}

// textOf prints everything about the objects, each part under the command that prints it.
func textOf(objects Objects, o Options) string {
	var b bytes.Buffer
	w := Printer{W: &b, Options: o, Namespaces: true}
	x := New(objects, o)
	part := func(format string, args ...any) { fmt.Fprintf(&b, "$ kubectl backoff "+format+"\n", args...) }
	for _, p := range objects.Pods {
		if metav1.GetControllerOf(p) != nil && len(objects.Jobs) > 0 {
			continue
		}
		part("pod/%s", p.Name)
		pod := x.Pod(p)
		w.Pod(&pod)
		b.WriteString("\n")
	}
	for _, j := range objects.Jobs {
		part("job/%s", j.Name)
		job := x.Job(j)
		w.Job(&job)
		b.WriteString("\n")
	}
	part("next -A")
	w.Next(x.Next())
	return b.String()
}

// The recorded texts of situations. A comment at the top of each YAML file says what is
// going on.
func TestRecordedTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 15 {
		t.Fatalf("only %d situations", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			got := textOf(readSituation(t, file), noon)
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
