//go:build long

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/conformance/vectors"
)

// The report of this library is that of its present code.
func TestReportIsUpToDate(t *testing.T) {
	dir := t.TempDir()
	program, report := filepath.Join(dir, "restart.exe"), filepath.Join(dir, "report.md")
	if out, err := exec.Command("go", "build", "-o", program, "./restart").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var out, errs strings.Builder
	t.Setenv("VECTORS_DIR", "")
	code := run(t.Context(), []string{"-name", "This library", "-known", "../reports/restart.txt", "-report", report, "--", program}, &out, &errs)
	if code != 0 {
		t.Errorf("exit code %d:\n%s%s", code, &out, &errs)
	}
	got, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../reports/restart.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("../reports/restart.md is out of date; write it with .ci/conformance -w restart:\n%s", got)
	}
}

// Each list of known differences names cases that exist, and each report has a list.
func TestKnownDifferencesNameCases(t *testing.T) {
	ids := map[string]bool{}
	names, err := vectors.Names(vectors.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		cases, err := vectors.Read(vectors.Embedded(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			ids[c.FullID()] = true
		}
	}
	reports, err := filepath.Glob("../reports/*.md")
	if err != nil || len(reports) < 4 {
		t.Fatalf("reports %q, error %v", reports, err)
	}
	for _, report := range reports {
		list := strings.TrimSuffix(report, ".md") + ".txt"
		known, err := readKnown(list)
		if err != nil {
			t.Error(err)
		}
		for id := range known {
			if !ids[id] {
				t.Errorf("%s: no case %s", list, id)
			}
		}
	}
}
