package explain

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// FuzzObjects explains objects mutated by a script. Nothing panics, everything
// encodes as JSON, and texts have no characters that command a terminal.
func FuzzObjects(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	var trees [][]byte // of Objects
	for _, file := range files {
		text, err := json.Marshal(readSituation(f, file))
		if err != nil {
			f.Fatal(err)
		}
		trees = append(trees, text)
	}
	for i := range trees {
		f.Add(uint8(i), []byte{}, int64(0))
		f.Add(uint8(i), []byte("a script of some length"), int64(1<<40))
		f.Add(uint8(i), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 250, 251, 252, 253}, int64(-3600))
	}
	f.Fuzz(func(t *testing.T, which uint8, script []byte, shift int64) {
		var tree any
		if err := json.Unmarshal(trees[int(which)%len(trees)], &tree); err != nil {
			t.Fatal(err)
		}
		m := &mutator{script: script[:min(len(script), 512)]}
		for len(m.script) > 0 {
			tree = m.mutate(tree)
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		var objects Objects
		// A field of the wrong type ends the decoding, and what was decoded before stays.
		_ = json.Unmarshal(text, &objects)
		objects.Pods = slices.DeleteFunc(objects.Pods, func(p *corev1.Pod) bool { return p == nil })
		objects.Jobs = slices.DeleteFunc(objects.Jobs, func(j *batchv1.Job) bool { return j == nil })
		objects.Events = slices.DeleteFunc(objects.Events, func(e *corev1.Event) bool { return e == nil })
		objects.Nodes = slices.DeleteFunc(objects.Nodes, func(n *corev1.Node) bool { return n == nil })
		if objects.Partial != "" {
			objects.Partial = "not in the files" // it is no text of a cluster
		}
		o := noon
		o.Now = o.Now.Add(time.Duration(shift) * time.Second)
		explainAll(t, objects, o)
	})
}

// mutator changes a tree of JSON values as a script says.
type mutator struct{ script []byte }

func (m *mutator) next() int {
	if len(m.script) == 0 {
		return 0
	}
	b := m.script[0]
	m.script = m.script[1:]
	return int(b)
}

// values take the places of others.
var values = []any{
	nil, "", "x", "\x1b[2J\r\n\u202e", "True", "False", "Failed", "Succeeded", "Pending", "Always", "Never", "OnFailure", "Indexed", "Ignore", "FailJob",
	"0-2147483647", "1,3-5,7", "9-1", "CrashLoopBackOff", "back-off 10s restarting failed container=c", "back-off 2562047h restarting failed container=c",
	"0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-11-01T12:00:00Z", "batch.kubernetes.io/job-tracking", "restartkit.dev/job-controller",
	-1.0, 0.0, 1.0, 6.0, 137.0, 2147483647.0, -2147483648.0, 9.2e18, true, false, []any{}, map[string]any{},
}

// mutate changes a value of the tree, or something in it.
func (m *mutator) mutate(v any) any {
	op := m.next()
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 || op >= 240 {
			break
		}
		key := slices.Sorted(maps.Keys(x))[op%len(x)]
		switch {
		case op >= 230:
			delete(x, key)
		case op >= 220:
			x[key] = values[m.next()%len(values)]
		default:
			x[key] = m.mutate(x[key])
		}
		return x
	case []any:
		if len(x) == 0 || op >= 240 {
			break
		}
		i := op % len(x)
		switch {
		case op >= 220:
			return slices.Delete(x, i, i+1)
		case op >= 200:
			return append(x, x[i])
		}
		x[i] = m.mutate(x[i])
		return x
	}
	return values[m.next()%len(values)]
}

// explainAll calls every function of the package.
func explainAll(t testing.TB, objects Objects, o Options) {
	t.Helper()
	var text strings.Builder
	w := Printer{W: &text, Options: o}
	x := New(objects, o)
	all := []any{}
	for _, p := range objects.Pods {
		pod := x.Pod(p)
		all = append(all, &pod)
		_ = NodeOf(p, o.Now)
	}
	for _, j := range objects.Jobs {
		job := x.Job(j)
		all = append(all, &job)
	}
	for _, object := range all {
		w.Object(object)
	}
	w.List(all)
	workload := x.Workload(Owner{Kind: "Deployment", Name: "w", Wanted: 1}, nil, nil)
	w.Workload(&workload)
	waiting := x.Next()
	w.Next(waiting)
	for _, item := range waiting {
		if item.To.Before(item.From) {
			t.Errorf("%+v ends before it begins", item)
		}
		if err := w.Change(item, false); err != nil {
			t.Error(err)
		}
	}
	if _, err := json.Marshal(append(all, waiting)); err != nil && !strings.Contains(err.Error(), "year") {
		t.Error(err)
	}
	for _, r := range text.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("the text has the character %U: %q", r, text.String())
		}
	}
}
