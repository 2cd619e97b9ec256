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
	if code := run(context.Background(), []string{"-h"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Fatalf("-h exits with %d and writes %q to standard error", code, errs.String())
	}
	for _, name := range []string{
		"kubeconfig", "context", "kube-api-qps", "kube-api-burst", "managed-by", "take-over", "namespace", "workers",
		"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace", "leader-elect-lease-duration",
		"leader-elect-renew-deadline", "leader-elect-retry-period", "listen", "metrics-listen", "metrics-auth",
		"tls-cert-file", "tls-private-key-file", "pprof", "log-format", "v", "version",
	} {
		if !regexp.MustCompile(`(?m)^  -` + name + `\b`).MatchString(out.String()) {
			t.Errorf("-%s is not described", name)
		}
	}
	for _, annotation := range []string{jobcontroller.AnnotationBaseDelay, jobcontroller.AnnotationMaxDelay, jobcontroller.AnnotationSkipWaiting, jobcontroller.AnnotationIgnoredDelay} {
		if !strings.Contains(out.String(), "  "+annotation+" ") {
			t.Errorf("%s is not described", annotation)
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.ReplaceAll(line, "\t", "        ")) > 101 {
			t.Errorf("too wide: %q", line)
		}
	}
}

// full is a writer without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestHelpThatCannotBeWrittenIsAnError(t *testing.T) {
	if code := run(context.Background(), []string{"-h"}, full{}, io.Discard); code == exitOK {
		t.Error("exits with 0")
	}
}

// -version prints the version for reports of faults.
func TestVersionIsPrinted(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"-version"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Errorf("exits with %d, writes %q to standard error", code, errs.String())
	}
	if want := regexp.MustCompile(`^restart-job-controller \S+, revision \S+, go1\.\S+ \w+/\w+\n$`); !want.Match(out.Bytes()) {
		t.Errorf("%q", out.String())
	}
	if code := run(context.Background(), []string{"-version"}, full{}, io.Discard); code == exitOK {
		t.Error("exits with 0, and the version is not written")
	}
}

// The program reports all mistakes at once, each with its flag.
func TestMistakesInFlagsAreReportedTogether(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string // each in the error
	}{
		{"-nope", []string{"-nope"}},
		{"job", []string{`["job"]`}},
		{"-workers 0 -kube-api-qps -1 -log-format xml -v 11", []string{"-workers 0", "-kube-api-qps -1", `-log-format "xml"`, "-v 11"}},
		{"-kube-api-burst 0", []string{"-kube-api-burst 0"}},
		{"-kube-api-burst 0 -kube-api-qps 0", nil},
		{"-workers x", []string{`"x" for flag -workers: `}},
		{"-kube-api-qps x", []string{`"x" for flag -kube-api-qps: `}},
		{"-leader-elect=5", []string{`"5" for -leader-elect: `}},
		{"-leader-elect-lease-duration 5", []string{`"5" for flag -leader-elect-lease-duration: `}},
		{"-managed-by=", []string{`-managed-by "": `}},
		{"-managed-by me", []string{`-managed-by "me"`}},
		{"-managed-by kubernetes.io/job-controller", []string{"-take-over"}},
		{"-managed-by a.com/b -take-over", []string{"-managed-by and -take-over"}},
		{"-managed-by a.com/b", nil},
		{"-take-over", nil},
		{"-namespace A -leader-elect-resource-namespace B -leader-elect-resource-name C", []string{`-namespace "A"`, `-leader-elect-resource-namespace "B"`, `-leader-elect-resource-name "C"`}},
		{"-leader-elect-resource-name=", []string{"-leader-elect-resource-name"}},
		{"-leader-elect-retry-period 0s", []string{"-leader-elect-retry-period 0s"}},
		{"-leader-elect-renew-deadline 2400ms", []string{"-leader-elect-renew-deadline 2.4s"}},
		{"-metrics-auth=false", []string{"-metrics-auth=false: -metrics-listen :8443 "}},
		{"-metrics-auth=false -metrics-listen 10.0.0.1:80", []string{"-metrics-auth=false: -metrics-listen 10.0.0.1:80 "}},
		{"-metrics-auth=false -metrics-listen localhost", []string{"-metrics-auth=false: -metrics-listen localhost "}},
		{"-metrics-auth=false -metrics-listen localhost:80", nil},
		{"-metrics-auth=false -metrics-listen 127.0.0.2:80", nil},
		{"-metrics-auth=false -metrics-listen [::1]:80", nil},
		{"-metrics-auth=false -metrics-listen=", nil},
		{"-metrics-auth=false -metrics-listen [::1]:80 -tls-cert-file c -tls-private-key-file k", []string{"-metrics-auth"}},
		{"-tls-cert-file c", []string{"-tls-cert-file and -tls-private-key-file"}},
		{"-tls-private-key-file k", []string{"-tls-cert-file and -tls-private-key-file"}},
		{"-tls-cert-file c -tls-private-key-file k", nil},
		{"-pprof -metrics-listen=", []string{"-pprof"}},
		{"-pprof", nil},
		{"-leader-elect-lease-duration 10s", []string{"-leader-elect-lease-duration 10s"}},
		{"-leader-elect-lease-duration 900ms -leader-elect-renew-deadline 800ms -leader-elect-retry-period 100ms", []string{"-leader-elect-lease-duration 900ms"}},
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
		if text := errorText(err); strings.Contains(text, "parse error") || strings.HasSuffix(text, ": ") {
			t.Errorf("%s: %q does not say what is expected", tt.args, text)
		}
		if lines := strings.Split(errorText(err), "\n"); err != nil && len(lines) != len(tt.want) {
			t.Errorf("%s: %d mistakes, want %d: %v", tt.args, len(lines), len(tt.want), err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The controller accepts all flags that the program accepts.
func TestControllerAcceptsTheOptions(t *testing.T) {
	for args, managedBy := range map[string]string{
		"":                     jobcontroller.DefaultManagedBy,
		"-take-over":           jobcontroller.BuiltInManagedBy,
		"-managed-by a.com/b ": "a.com/b",
	} {
		o, err := parseOptions(append(strings.Fields(args), "-workers", "3", "-namespace", "ns"), io.Discard)
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
	missing := t.TempDir() + "/missing"
	for args, want := range map[string]int{
		"-workers 0":             exitUsage,
		"-kubeconfig " + missing: exitFailed,
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

// The error for a missing configuration of the cluster names the file.
func TestMissingConfigurationSaysWhatToType(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(dir, "missing"))
	t.Setenv("KUBERNETES_MASTER", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                     filepath.Join(dir, "missing"),
		"-kubeconfig " + empty: "-kubeconfig " + empty,
	} {
		var errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), io.Discard, &errs); code != exitFailed || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exits with %d, prints %s", args, code, &errs)
		}
	}
}

// On a signal, the log says how to end the program sooner.
func TestEndSaysThatASecondSignalIsQuicker(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const config = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, signal := context.WithCancel(t.Context())
	signal()
	var errs bytes.Buffer
	if code := run(ctx, []string{"-kubeconfig", file, "-listen=", "-metrics-listen="}, io.Discard, &errs); code != exitOK || strings.Count(errs.String(), "second signal") != 1 {
		t.Errorf("exits with %d, prints %s", code, &errs)
	}
}
