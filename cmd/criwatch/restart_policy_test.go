package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// policyOf writes a file for -restart.
func policyOf(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// All mistakes in a policy are printed at once, with their lines, and no runtime is
// called.
func TestBadPolicyIsNamedWithAllItsMistakes(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	if len(files) < 3 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range append(files, "testdata/bad/missing.yaml") {
		var out, errs bytes.Buffer
		code := criwatch(t.Context(), []string{"-endpoint", "/no/such.sock", "-restart", f}, &out, &errs, false)
		if code != exitBad || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", f, code, &out)
		}
		programtest.Golden(t, strings.TrimSuffix(f, ".yaml")+".txt", errs.String())
	}
}

// The policy of testdata, which README.md shows, has every field.
func TestPolicyOfTheReadmeIsReadInFull(t *testing.T) {
	p, warnings, err := readPolicy("testdata/policy.yaml")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if p.limit != 20 || p.window != time.Hour || p.Rate != 5 || p.Burst != 10 || p.resolution.Policy != backoff.CrashLoop().WithMax(time.Minute) {
		t.Errorf("%+v", p)
	}
	for name, want := range map[key]int{
		{"batch-1", "p", "u", "worker"}: 0, {"batch-1", "p", "u", "proxy"}: 1, {"web", "p", "u", "worker"}: 2, {"", "", "", ""}: 2,
	} {
		if got := p.of(name); got != &p.entries[want] {
			t.Errorf("%v: %+v", name, got)
		}
	}
	if c := p.curveOf(key{Name: "proxy"}, backoff.Exit{}); c != *p.entries[1].curve || c.FreeFailures != 1 {
		t.Errorf("%+v", c)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(text), "\ncrashLoopBackOff:")
	if !strings.Contains(string(readme), "\ncrashLoopBackOff:"+fields) {
		t.Error("README.md shows another policy")
	}
}

// An empty object restarts every container always, on the node's curve.
func TestEmptyPolicyRestartsAllAlways(t *testing.T) {
	p, _, err := readPolicy(policyOf(t, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	k := key{"n", "p", "u", "c"}
	if action, _ := p.of(k).container.DecideExit(backoff.Exit{}, 1); action != backoff.ActionRestart || p.curveOf(k, backoff.Exit{}) != backoff.CrashLoop() {
		t.Errorf("%v, %+v", action, p)
	}
}

// A policy is refused, or a Restarter can be made of it.
func FuzzPolicy(f *testing.F) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range append(files, "testdata/policy.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := document.Parse(text)
		if err != nil {
			return
		}
		var p policy
		found, err := p.read(whole)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Mistakes) > 0 {
			return
		}
		resolution, err := p.Config.Resolve()
		if err != nil {
			t.Fatalf("accepted: %+v: %v", p, err)
		}
		if p.Rate == 0 {
			p.Burst = 0 // a flag may give the rate
		}
		o := backoff.RestarterOptions[key]{PolicyFor: p.curveOf, Limit: p.limit, Window: p.window, Rate: p.Rate, Burst: p.Burst}
		if _, err := backoff.NewRestarter(resolution.Policy, o); err != nil {
			t.Fatalf("accepted: %+v: %v", p, err)
		}
		p.of(key{"n", "p", "u", "c"})
	})
}

// An empty list matches nothing, unlike one that is left out.
func TestEmptyListRestartsNothing(t *testing.T) {
	p, _, err := readPolicy(policyOf(t, "containers: []"))
	if err != nil || p.of(key{"ns", "pod", "u", "c"}) != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
