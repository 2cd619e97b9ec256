package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// report is a report of Ginkgo with the fields that are read and a few others.
const report = `[{"SuiteDescription": "Kubernetes e2e suite", "SuiteSucceeded": false, "SpecReports": [
	{"LeafNodeType": "SynchronizedBeforeSuite", "LeafNodeText": "", "State": "passed", "RunTime": 1000},
	{"LeafNodeType": "SynchronizedBeforeSuite", "LeafNodeText": "", "State": "passed", "RunTime": 2000},
	{"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "should run [Conformance]", "State": "passed", "NumAttempts": 1},
	{"ContainerHierarchyTexts": ["[sig-apps] Job", "with limits"], "LeafNodeType": "It", "LeafNodeText": "should end", "State": "failed", "Failure": {"Message": "timed out"}},
	{"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "should panic", "State": "panicked", "Failure": {"Message": "nil"}},
	{"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "should skip itself", "State": "skipped", "Failure": {"Message": "only for Windows"}},
	{"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeType": "It", "LeafNodeText": "should be finished one day", "State": "pending"},
	{"ContainerHierarchyTexts": ["[sig-apps] CronJob"], "LeafNodeType": "It", "LeafNodeText": "should not be selected", "State": "skipped"},
	{"LeafNodeType": "SynchronizedAfterSuite", "LeafNodeText": "", "State": "failed"},
	{"LeafNodeType": "SynchronizedAfterSuite", "LeafNodeText": "", "State": "passed"}
]}]`

func TestReportIsReadByName(t *testing.T) {
	specs, err := readSpecs([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	got := results{}
	got.readSpecs(specs, []string{"should_run_[Conformance]", "should_have_run"}, true)
	want := results{
		"should_run_[Conformance]":   "PASS",
		"with_limits_should_end":     "FAIL",
		"should_panic":               "FAIL",
		"should_skip_itself":         "SKIP",
		"should_be_finished_one_day": "SKIP",
		"should_have_run":            "FAIL",
		"SynchronizedAfterSuite":     "FAIL",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := readSpecs([]byte(`[{"SpecReports": [`)); err == nil || !strings.Contains(err.Error(), "Ginkgo's report") {
		t.Errorf("a report that is cut off: %v", err)
	}
}

// A command that fails although all specs pass has found a fault of its own.
func TestFailedCommandIsAFailure(t *testing.T) {
	passed := []spec{{LeafNodeType: "It", LeafNodeText: "should run", State: "passed"}}
	for _, failed := range []bool{false, true} {
		r := results{}
		r.readSpecs(passed, []string{"should_run"}, failed)
		if _, fail, _ := r.count(); (fail == 1) != failed {
			t.Errorf("failed %v: %v", failed, r)
		}
	}
}

// The selection by name takes the named specs and none whose text only contains theirs.
func TestSpecsAreSelectedByName(t *testing.T) {
	const suite = "Kubernetes e2e suite [sig-apps] "
	selects := regexp.MustCompile(focus([]string{"should_run_[Serial]", "should_use_job_name"}))
	for text, want := range map[string]bool{
		suite + "Job should run [Serial]":            true,
		suite + "Job should use job_name":            true,
		suite + "Job should run":                     false,
		suite + "Job should run S":                   false,
		suite + "Job should run [Serial] [Slow]":     false,
		suite + "Job when asked should run [Serial]": false,
		suite + "CronJob should run [Serial]":        false,
		"[sig-apps] Job should run [Serial]":         false,
	} {
		if got := selects.MatchString(text); got != want {
			t.Errorf("%q is selected: %v, want %v", text, got, want)
		}
	}
}

func TestImagesAreChosenByRepository(t *testing.T) {
	images := []string{
		"registry.k8s.io/e2e-test-images/busybox:1.37.0-2", "registry.k8s.io/e2e-test-images/busybox:1.36.1-1",
		"registry.k8s.io/pause:3.10.2", "localhost:5000/pause", "registry.k8s.io/e2e-test-images/busyboxes:1", "busybox.io/agnhost:2",
	}
	want := [][]string{images[:2], images[2:4]}
	got := [][]string{imagesOf(images, "busybox"), imagesOf(images, "pause")}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOtherSpecsAreNotCompiled(t *testing.T) {
	const text = `package e2e

import (
	"k8s.io/x/e2e/framework"
	_ "k8s.io/x/e2e/feature"
	_ "k8s.io/x/e2e/apps"
	_ "k8s.io/x/e2e/storage"
	_ "k8s.io/x/e2e/storage/csi"
	"k8s.io/x/e2e/invariants/logcheck"
	_ "k8s.io/x/e2e/framework/debug/init"
	_ "k8s.io/y/plugins"
)

var _, _ = framework.X, logcheck.Y
`
	path := write(t, text)
	if err := rewrite(path, func(f *file) error { f.keepSpecs("k8s.io/x/e2e", "apps"); return nil }); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(`_ "k8s.io/x/e2e/storage"`, "", `_ "k8s.io/x/e2e/storage/csi"`, "").Replace(text)
	lines := func(s string) []string { return slices.Sorted(slices.Values(strings.Fields(s))) }
	if d := cmp.Diff(lines(want), lines(string(got))); d != "" {
		t.Error(d)
	}
	err = rewrite(path, func(f *file) error { f.keepSpecs("k8s.io/x/e2e", "nodes"); return nil })
	if err == nil || !strings.Contains(err.Error(), "no import of k8s.io/x/e2e/nodes") {
		t.Errorf("specs that are gone are not named: %v", err)
	}
}

// A spec that disappears, is skipped or is new is noticed, unless -run excludes it.
func TestSpecsAreComparedByName(t *testing.T) {
	r := results{"a": "PASS", "b": "SKIP", "c": "FAIL", "e": "PASS"}
	names := []string{"a", "b", "c", "d", "z"}
	got := compareNames(names, r, regexp.MustCompile("[a-e]"))
	want := []string{
		"UNEXPECTED: b is skipped",
		"UNEXPECTED: d does not exist; take it from the list of names",
		"UNEXPECTED: e is new; add it to the list of names",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNamesOfSpecsAreRead(t *testing.T) {
	for _, s := range suites {
		if s.names == "" {
			continue
		}
		names, err := readNames(filepath.Join("../..", s.names))
		if err != nil {
			t.Fatal(err)
		}
		conformance := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, "_[Conformance]") })
		if len(conformance) != 14 || len(names) != 14+17 {
			t.Errorf("%s: %d names of Conformance and %d others, want 14 and 17", s.name, len(conformance), len(names)-len(conformance))
		}
	}
	for text, want := range map[string]string{
		"# a\na\n\nb c\n": ":4: want one name",
		"a\nb\na\n":       ":3: a is listed twice",
	} {
		if _, err := readNames(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// On a machine that cannot run a node, and with -reach, the suites on a node are named
// and left out.
func TestSuitesThatCannotRunAreLeftOut(t *testing.T) {
	chosen := []suite{{name: "rest"}, {name: "e2e", node: true}}
	for _, test := range []struct {
		reach   bool
		machine error
		can     int
		line    string
	}{
		{false, nil, 2, ""},
		{false, errors.New("a node needs root"), 1, "e2e is left out: a node needs root"},
		{true, nil, 1, "e2e is left out: -reach cannot count in another program"},
	} {
		can, leftOut := runnable(chosen, test.reach, func() error { return test.machine })
		if line := strings.Join(leftOut, "\n"); len(can) != test.can || can[0].name != "rest" || line != test.line {
			t.Errorf("%+v: %d suites can run, left out: %q", test, len(can), line)
		}
	}
	runnable(chosen[:1], false, func() error { t.Error("the machine is checked without need"); return nil })
}

// Ginkgo's command is run with the binary and its arguments, and its report is read. If
// it leaves none, the error quotes the end of its output.
func TestReportOfTheCommandIsRead(t *testing.T) {
	dir := t.TempDir()
	ginkgo := filepath.Join(dir, "ginkgo")
	b := specBinary{dir: dir, path: "/x/e2e.test", ginkgo: ginkgo}
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(ginkgo, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script("echo \"$@\"\ncat >e2e.json <<'END'\n" + report + "\nEND\nexit 1\n")
	var log strings.Builder
	specs, failed, err := b.test(t.Context(), &log, "/x/kubeconfig", []string{"should_run"})
	if err != nil || !failed || len(specs) != 10 {
		t.Errorf("%d entries, failed %v, error %v", len(specs), failed, err)
	}
	if want := regexp.MustCompile(` --procs=\d .*\(should\[ _\]run\)\$ .*/x/e2e\.test -- .*-kubeconfig=/x/kubeconfig`); !want.MatchString(log.String()) {
		t.Errorf("its arguments were %s", log.String())
	}
	if names, err := b.list(t.Context(), regexp.MustCompile("run|end")); err != nil || !slices.Equal(names, []string{"should_run_[Conformance]"}) {
		t.Errorf("the listed specs are %q, error %v", names, err)
	}

	script("echo no report of an earlier run is read >&2\nexit 3\n")
	_, _, err = b.test(t.Context(), io.Discard, "", []string{"should_run"})
	if err == nil || !strings.Contains(err.Error(), "no report of an earlier run is read\n") {
		t.Errorf("the end of the output is not quoted: %v", err)
	}
}

// When the controller ends, the specs are cancelled with the end of its log.
func TestEndOfTheControllerCancelsTheSpecs(t *testing.T) {
	for _, stop := range []bool{false, true} {
		script := "echo no cluster; exit 3"
		if stop {
			script = "echo leads; exec sleep 1000"
		}
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := startController(t.Context(), log, "/bin/sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		if stop {
			c.stop()
		}
		<-c.running.Done()
		want := "sh has ended: exit status 3\nno cluster\n"
		if stop {
			want = "sh has ended: signal: killed"
		}
		if err := context.Cause(c.running); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("stopped %v: the cause is %q, want %q", stop, err, want)
		}
		c.stop()
	}
	if _, err := startController(t.Context(), nil, "/does/not/exist"); err == nil {
		t.Error("a program that does not exist is started")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := &tail{limit: 5}
	for _, s := range []string{"abc", "", "defg", "hijklmnop", "q"} {
		if n, err := io.WriteString(tail, s); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if got := string(tail.text); got != "mnopq" {
		t.Errorf("the tail is %q", got)
	}
}
