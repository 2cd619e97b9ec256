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
	got.readSpecs(specs, "[sig-apps] Job ", []string{"should_run_[Conformance]", "should_have_run"}, true)
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
		r.readSpecs(passed, "", []string{"should_run"}, failed)
		if _, fail, _ := r.count(); (fail == 1) != failed {
			t.Errorf("failed %v: %v", failed, r)
		}
	}
}

// The selection by name takes the named specs and none whose text only contains theirs.
func TestSpecsAreSelectedByName(t *testing.T) {
	const suite = "Kubernetes e2e suite [sig-apps] "
	selects := regexp.MustCompile(jobSpecs.focusOnNames([]string{"should_run_[Serial]", "should_use_job_name"}))
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

// The specs of restarts are those of a few groups, found by the text of their specs.
func TestSpecsOfRestartsAreSelected(t *testing.T) {
	selects := regexp.MustCompile(restartSpecs.focusOn(restartSpecs.focus))
	for text, want := range map[string]bool{
		"Pod Extended (container restart policy) [Beta] Rules should restart":             true,
		"Pod Extended (RestartAllContainers) should restart":                              true,
		"Pod Extended (other) should restart":                                             false,
		"Pods should cap back-off":                                                        true,
		"Pods should get a host IP":                                                       false,
		"Container Runtime blackbox test when starting a container that exits should run": true,
		"Container Runtime blackbox test on terminated container should report":           false,
		"InitContainer should start":                                                      true,
		"Probing container should be restarted":                                           true,
		"Probing restartable init container should be restarted":                          true,
		"Mount propagation should do as in Probing container":                             false,
	} {
		if got := selects.MatchString("Kubernetes e2e suite [sig-node] " + text); got != want {
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
	got := [][]string{imagesOf(images, "busybox"), imagesOf(images, "pause", "nginx")}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Only the baseline has Kubernetes' Job controller, and only restarts need images under
// other names.
func TestClusterIsThatOfTheSpecs(t *testing.T) {
	images := []string{"k8s.io/busybox:1", "k8s.io/nginx:2", "k8s.io/agnhost:3", "k8s.io/pause:4", "k8s.io/other:5"}
	type cluster struct{ Busybox, Pause, Controllers []string }
	var got []cluster
	for _, set := range []specSet{jobSpecs, restartSpecs} {
		for _, baseline := range []bool{false, true} {
			o := set.cluster(options{baseline: baseline}, images)
			if !o.Node {
				t.Errorf("%s: no node", set.names)
			}
			got = append(got, cluster{o.BusyboxNames, o.PauseNames, o.Controllers})
		}
	}
	want := []cluster{
		{images[:1], images[3:4], []string{"*", "-job-controller"}},
		{images[:1], images[3:4], nil},
		{images[:2], images[2:4], nil},
		{images[:2], images[2:4], nil},
	}
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
	keep := func(folder string) error {
		return rewrite(path, func(f *file) error { f.keepSpecs("k8s.io/x/e2e", folder); return nil })
	}
	lines := func(s string) []string { return slices.Sorted(slices.Values(strings.Fields(s))) }
	for _, folder := range []string{"apps", "storage/csi", "apps", "apps"} { // for one suite after the other
		if err := keep(folder); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(`_ "k8s.io/x/e2e/storage"`, "", `_ "k8s.io/x/e2e/storage/csi"`, "", "e2e/apps", "e2e/"+folder).Replace(text)
		if d := cmp.Diff(lines(want), lines(string(got))); d != "" {
			t.Errorf("%s: %s", folder, d)
		}
	}
	path = write(t, "package e2e\n\nimport _ \"k8s.io/x/e2e/feature\"\n")
	if err := keep("apps"); err == nil || !strings.Contains(err.Error(), "no import of specs in k8s.io/x/e2e") {
		t.Errorf("a file without specs: error %v", err)
	}
}

// A spec that disappears, is skipped or is new is noticed, unless -run excludes it. One
// that is left out may only disappear. A failure is reported elsewhere.
func TestSpecsAreComparedByName(t *testing.T) {
	r := results{"a": "PASS", "b": "SKIP", "c": "FAIL", "e": "PASS", "f": "SKIP", "log": "FAIL"}
	names := specNames{run: []string{"a", "b", "c", "d", "z"}, leftOut: []string{"f", "g"}}
	got := names.compare(r, regexp.MustCompile("[a-g]"))
	want := []string{
		"UNEXPECTED: b is skipped",
		"UNEXPECTED: d does not exist; take it from the list of names",
		"UNEXPECTED: e is new; add it to the list of names",
		"UNEXPECTED: g does not exist; take it from the list of names",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNamesOfSpecsAreRead(t *testing.T) {
	type counts struct{ Conformance, Others, LeftOut int }
	got := map[string]counts{}
	for _, s := range suites {
		if s.specs == nil {
			continue
		}
		names, err := readSpecNames(filepath.Join("../..", s.specs.names))
		if err != nil {
			t.Fatal(err)
		}
		conformance := slices.DeleteFunc(slices.Clone(names.run), func(name string) bool { return !strings.Contains(name, "_[Conformance]") })
		got[s.name] = counts{len(conformance), len(names.run) - len(conformance), len(names.leftOut)}
	}
	want := map[string]counts{"e2e": {14, 17, 0}, "restarts": {7, 31, 25}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"# a\na\n\nb c\n": ":4: want one name",
		"a\nb\na\n":       ":3: a is listed twice",
		"a\nb\n-a\n":      ":3: a is listed twice",
		"-a\na\n":         ":2: a is listed twice",
	} {
		if _, err := readSpecNames(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// On a machine that cannot run a node, the suites on a node are named and left out.
func TestSuitesThatCannotRunAreLeftOut(t *testing.T) {
	chosen := []suite{{name: "rest"}, {name: "e2e", specs: &specSet{}}}
	for _, test := range []struct {
		machine error
		can     int
		line    string
	}{
		{nil, 2, ""},
		{errors.New("a node needs root"), 1, "e2e is left out: a node needs root"},
	} {
		can, leftOut := runnable(chosen, func() error { return test.machine })
		if line := strings.Join(leftOut, "\n"); len(can) != test.can || can[0].name != "rest" || line != test.line {
			t.Errorf("%+v: %d suites can run, left out: %q", test, len(can), line)
		}
	}
	runnable(chosen[:1], func() error { t.Error("the machine is checked without need"); return nil })
}

// Ginkgo's command is run with the binary and its arguments, and its report is read. If
// it leaves none, the error quotes the end of its output.
func TestReportOfTheCommandIsRead(t *testing.T) {
	dir := t.TempDir()
	ginkgo := filepath.Join(dir, "ginkgo")
	b := specBinary{specSet: jobSpecs, name: "jobs", dir: dir, path: "/x/jobs.test", ginkgo: ginkgo}
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(ginkgo, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script("echo \"$@\"\ncat >jobs.json <<'END'\n" + report + "\nEND\nexit 1\n")
	var log strings.Builder
	specs, failed, err := b.test(t.Context(), &log, "/x/kubeconfig", []string{"should_run"})
	if err != nil || !failed || len(specs) != 10 {
		t.Errorf("%d entries, failed %v, error %v", len(specs), failed, err)
	}
	if want := regexp.MustCompile(` --procs=\d .*\(should\[ _\]run\)\$ .*/x/jobs\.test -- .*-kubeconfig=/x/kubeconfig`); !want.MatchString(log.String()) {
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

// When the program beside the specs ends, they are cancelled with the end of its log.
func TestEndOfTheProgramCancelsTheSpecs(t *testing.T) {
	for _, stop := range []bool{false, true} {
		script := "echo no cluster; exit 3"
		if stop {
			script = "echo leads; exec sleep 1000"
		}
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := startProgram(t.Context(), log, "/bin/sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		if stop {
			p.stop()
		}
		<-p.ctx.Done()
		want := "sh has ended: exit status 3\nno cluster\n"
		if stop {
			want = "sh has ended: signal: killed"
		}
		if err := context.Cause(p.ctx); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("stopped %v: the cause is %q, want %q", stop, err, want)
		}
		p.stop()
	}
	if _, err := startProgram(t.Context(), nil, "/does/not/exist"); err == nil {
		t.Error("a program that does not exist is started")
	}
}

// The log of sooner is refused for the removal of a record, and for an error.
func TestLogIsRefusedByItsLines(t *testing.T) {
	const started = `time=2026-01-02T03:04:05.678Z level=INFO msg=started version=1 node=n` + "\n"
	for text, want := range map[string]string{
		"":                             "",
		started:                        "",
		started + "level=WARN msg=x\n": "",
		started + "level=INFO msg=removed pod=a/b code=1\n" + started:      "level=INFO msg=removed pod=a/b code=1",
		"level=ERROR msg=\"watch failed\"\nlevel=INFO msg=removed pod=a/b": "level=ERROR msg=\"watch failed\"",
	} {
		path := write(t, text)
		if line, err := firstLine(path, restartSpecs.program.refused); line != want || err != nil {
			t.Errorf("%q: %q, error %v, want %q", text, line, err, want)
		}
		if line, err := firstLine(path, nil); line != "" || err != nil {
			t.Errorf("%q: %q is refused, error %v", text, line, err)
		}
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
