package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/restartkit/restart/kube/jobcontroller"
)

func TestHelpDescribesEveryFlag(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"--help"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Fatalf("--help exits with %d and writes %q to standard error", code, errs.String())
	}
	for _, name := range []string{
		"kubeconfig", "context", "kube-api-qps", "kube-api-burst", "managed-by", "take-over", "namespace", "workers",
		"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace", "leader-elect-lease-duration",
		"leader-elect-renew-deadline", "leader-elect-retry-period", "metrics-bind-address", "metrics-secure",
		"metrics-cert-path", "metrics-cert-name", "metrics-cert-key", "health-probe-bind-address", "pprof-bind-address",
		"zap-log-level", "zap-encoder", "zap-devel", "zap-stacktrace-level", "zap-time-encoding", "version",
	} {
		if !regexp.MustCompile(`(?m)^  -` + name + `\b`).MatchString(out.String()) {
			t.Errorf("--%s is not described", name)
		}
	}
	for _, annotation := range []string{jobcontroller.AnnotationBaseDelay, jobcontroller.AnnotationMaxDelay, jobcontroller.AnnotationSkipWaiting, jobcontroller.AnnotationIgnoredDelay} {
		if !strings.Contains(out.String(), "  "+annotation+" ") {
			t.Errorf("%s is not described", annotation)
		}
	}
}

// full is a writer without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestHelpThatCannotBeWrittenIsAnError(t *testing.T) {
	if code := run(context.Background(), []string{"--help"}, full{}, io.Discard); code == exitOK {
		t.Error("exits with 0")
	}
}

// --version prints the version for reports of faults.
func TestVersionIsPrinted(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"--version"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Errorf("exits with %d, writes %q to standard error", code, errs.String())
	}
	if want := regexp.MustCompile(`^restart-job-controller \S+, revision \S+, go1\.\S+ \w+/\w+\n$`); !want.Match(out.Bytes()) {
		t.Errorf("%q", out.String())
	}
	if code := run(context.Background(), []string{"--version"}, full{}, io.Discard); code == exitOK {
		t.Error("exits with 0, and the version is not written")
	}
}

// The program reports all mistakes at once, each with its flag.
func TestMistakesInFlagsAreReportedTogether(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string // each in the error
	}{
		{"--nope", []string{"-nope"}},
		{"job", []string{`["job"]`}},
		{"--workers=0 --kube-api-qps=-1", []string{"--workers 0", "--kube-api-qps -1"}},
		{"--kube-api-burst=0", []string{"--kube-api-burst 0"}},
		{"--kube-api-burst=0 --kube-api-qps=0", nil},
		{"--workers=x", []string{`"x" for flag -workers`}},
		{"--zap-log-level=x", []string{`"x" for flag -zap-log-level`}},
		{"--managed-by=", []string{`--managed-by "": `}},
		{"--managed-by=me", []string{`--managed-by "me"`}},
		{"--managed-by=kubernetes.io/job-controller", []string{"--take-over"}},
		{"--managed-by=a.com/b --take-over", []string{"--managed-by and --take-over"}},
		{"--managed-by=a.com/b", nil},
		{"--managed-by=a.com/" + strings.Repeat("b", 57), nil},
		{"--managed-by=a.com/" + strings.Repeat("b", 58), []string{"must be at most 63 bytes, as in a Job"}},
		{"--take-over", nil},
		{"--namespace=A --leader-elect-resource-namespace=B --leader-elect-resource-name=C", []string{`--namespace "A"`, `--leader-elect-resource-namespace "B"`, `--leader-elect-resource-name "C"`}},
		{"--leader-elect-resource-name=", []string{"--leader-elect-resource-name"}},
		{"--leader-elect-retry-period=0s", []string{"--leader-elect-retry-period 0s"}},
		{"--leader-elect-renew-deadline=2400ms", []string{"--leader-elect-renew-deadline 2.4s"}},
		{"--leader-elect-lease-duration=10s", []string{"--leader-elect-lease-duration 10s"}},
		{"--leader-elect-lease-duration=900ms --leader-elect-renew-deadline=800ms --leader-elect-retry-period=100ms", []string{"--leader-elect-lease-duration 900ms"}},
		{"--metrics-secure=false", nil},
		{"--metrics-secure=false --metrics-cert-path=c", []string{"--metrics-cert-path"}},
		{"--metrics-cert-path=c --metrics-cert-name= --metrics-cert-key=a/b", []string{`--metrics-cert-name ""`, `--metrics-cert-key "a/b"`}},
	} {
		_, err := parseOptions(strings.Fields(tt.args), io.Discard)
		if len(tt.want) == 0 && err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", tt.args, err, want)
			}
		}
		if err != nil && strings.Count(err.Error(), "\n") != len(tt.want)-1 {
			t.Errorf("%s: want %d mistakes: %v", tt.args, len(tt.want), err)
		}
	}
}

// The controller accepts all flags that the program accepts.
func TestControllerAcceptsTheOptions(t *testing.T) {
	for args, managedBy := range map[string]string{
		"":                     jobcontroller.DefaultManagedBy,
		"--take-over":          jobcontroller.BuiltInManagedBy,
		"--managed-by=a.com/b": "a.com/b",
	} {
		o, err := parseOptions(append(strings.Fields(args), "--workers=3", "--namespace=ns"), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got := o.controller(nil)
		if err := got.Validate(); err != nil || got.Engine.ManagedBy != managedBy || got.Workers != 3 || got.Namespace != "ns" {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
}

// Each reason for ending has its exit code.
func TestExitCodesBeforeAnythingRuns(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for args, want := range map[string]int{
		"--workers=0":             exitUsage,
		"--kubeconfig=" + missing: exitFailed,
	} {
		var errs bytes.Buffer
		if got := run(context.Background(), strings.Fields(args), io.Discard, &errs); got != want || errs.Len() == 0 {
			t.Errorf("%s: exits with %d, want %d; %s", args, got, want, errs.String())
		}
	}
	if _, err := parseOptions([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

// unreachable is a kubeconfig of a cluster that nobody serves.
func unreachable(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "kubeconfig")
	const config = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
