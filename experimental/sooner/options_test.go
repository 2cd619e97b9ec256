package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestHelpDescribesEveryFlag(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Fatalf("-h exits with %d and writes %q to standard error", code, errs.String())
	}
	for _, name := range []string{"node-name", "kubeconfig", "runtime-endpoint", "rules", "manifests", "namespaces", "min-delay", "node-restarts-per-minute", "namespace-restarts-per-minute", "metrics-bind-address", "health-probe-bind-address", "dry-run", "check", "verbose", "version", "help"} {
		if !regexp.MustCompile(`(?m)^  (-\w, |    )--` + name + `\b`).MatchString(out.String()) {
			t.Errorf("-%s is not described", name)
		}
	}
	for _, text := range []string{annotationRules, annotationNow, "SIGUSR1", "kubectl logs -p", "Exit codes:\n  0 "} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("%s is not described", text)
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.ReplaceAll(line, "\t", "        ")) > 101 && !strings.Contains(line, "default $NODE_NAME") { // which has the host's name
			t.Errorf("too wide: %q", line)
		}
	}
}

// --version prints the version for reports of faults.
func TestVersionIsPrinted(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"--version"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Errorf("exits with %d, writes %q to standard error", code, errs.String())
	}
	if want := regexp.MustCompile(`^sooner \S+, go1\.\S+ \w+/\w+\n$`); !want.Match(out.Bytes()) {
		t.Errorf("%q", out.String())
	}
}

// withoutCluster clears the environment of a pod.
func withoutCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("NODE_NAME", "")
}

// Wrong flags end the program with 2, a line that says why, and nothing else.
func TestWrongFlags(t *testing.T) {
	withoutCluster(t)
	ended, end := context.WithCancel(t.Context()) // should the flags be right
	end()
	folder := t.TempDir()
	for name, text := range map[string]string{"bad": "{", "wrong": `{"restartPolicyRules": [{"action": "Explode"}]}`, "unknown": `{"rules": []}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"":                                "--kubeconfig or --manifests",
		"--dry-run":                       "--kubeconfig or --manifests",
		"--check":                         "--kubeconfig or --manifests",
		"--nope":                          "--nope",
		"--manifests":                     "--manifests",
		"-manifests M":                    "shorthand",
		"--dry-run=maybe":                 "dry-run",
		"--manifests M more":              `"more"`,
		"--manifests M --min-delay -1s":   "--min-delay -1s: must not be negative",
		"--manifests M --min-delay 1":     "missing unit",
		"--manifests M --namespaces a,,b": "--namespaces a,,b: one name is empty",
		"--manifests M --namespaces=":     "--namespaces: names none; leave it out for all namespaces",
		"--manifests M --node-restarts-per-minute -1":       "--node-restarts-per-minute -1: must not be negative",
		"--manifests M --namespace-restarts-per-minute -1":  "--namespace-restarts-per-minute -1: must not be negative",
		"--manifests M --rules D":                           "--rules",
		"--manifests M --rules D/missing":                   "--rules: open D/missing:",
		"--manifests M --rules D/bad":                       "--rules D/bad: ",
		"--manifests M --rules D/wrong":                     "--rules D/wrong: ",
		"--manifests M --rules D/unknown":                   "rules: unknown field",
		"--manifests M --runtime-endpoint tcp://1.2.3.4:56": `--runtime-endpoint "tcp://1.2.3.4:56"`,
		"--manifests M --runtime-endpoint unix://run/s":     `--runtime-endpoint "unix://run/s"`,
		"--manifests M --runtime-endpoint run/s":            `--runtime-endpoint "run/s"`,
	} {
		args, want = strings.ReplaceAll(args, "D", folder), strings.ReplaceAll(want, "D", folder)
		var out, errs bytes.Buffer
		code := run(ended, strings.Fields(args), &out, &errs)
		text := errs.String()
		if code != exitUsage || out.Len() > 0 || !strings.HasPrefix(text, "sooner: ") || !strings.Contains(text, want) {
			t.Errorf("%q: exits with %d, prints %q and %q, want %q", args, code, out.String(), text, want)
		}
		if line, rest, _ := strings.Cut(text, "\n"); len(line) > 250 || rest != "See sooner -h.\n" {
			t.Errorf("%q: %q", args, text)
		}
	}
}

func TestOptions(t *testing.T) {
	withoutCluster(t)
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(secondAfter42), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, nodeName, service string
		node, endpoint          string
		cluster                 bool
	}{
		{"--manifests M", "", "", strings.ToLower(host), "", false},
		{"--manifests M", "N", "", "N", "", false},
		{"--manifests M --node-name O", "N", "", "O", "", false},
		{"", "N", "10.0.0.1", "N", "", true},
		{"--kubeconfig K", "N", "", "N", "", true},
		{"--kubeconfig K --runtime-endpoint unix:///run/s --rules " + file, "N", "", "N", "unix:///run/s", true},
		{"--kubeconfig K --runtime-endpoint /run/s", "N", "", "N", "/run/s", true},
	} {
		env := func(name string) string {
			return map[string]string{"NODE_NAME": tt.nodeName, "KUBERNETES_SERVICE_HOST": tt.service}[name]
		}
		o, err := parseOptions(strings.Fields(tt.args), io.Discard, env)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if o.node != tt.node || o.inCluster != tt.cluster || (o.rules != nil) != strings.Contains(tt.args, "--rules") {
			t.Errorf("%s: %+v", tt.args, o)
		}
		if tt.endpoint != "" && o.endpoint != tt.endpoint || !strings.Contains(o.endpoint, "/run/") {
			t.Errorf("%s: --runtime-endpoint %s", tt.args, o.endpoint)
		}
	}
}

// The program ends with 1 if it cannot start, and says why.
func TestProgramCannotStart(t *testing.T) {
	withoutCluster(t)
	ended, end := context.WithCancel(t.Context()) // should it start
	end()
	folder := t.TempDir()
	for args, want := range map[string]string{
		"--kubeconfig D/missing":                             "D/missing",
		"--manifests D --metrics-bind-address 256.0.0.1:nix": "--metrics-bind-address",
	} {
		args, want = strings.ReplaceAll(args, "D", folder), strings.ReplaceAll(want, "D", folder)
		var errs bytes.Buffer
		if code := run(ended, strings.Fields(args), io.Discard, &errs); code != exitFailed || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exits with %d, prints %q", args, code, errs.String())
		}
	}
}

// --check prints a line per part, and ends with 1 if one of them is wrong.
func TestCheck(t *testing.T) {
	withoutCluster(t)
	f, path := newFakeRuntime(t), newSocket(t)
	folder := t.TempDir()
	args := []string{"--check", "--manifests", folder, "--runtime-endpoint", path}
	checked := func(want int, lines ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if code := run(ctx, args, &out, &errs); code != want || errs.Len() > 0 {
			t.Errorf("exits with %d, prints %q", code, errs.String())
		}
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(got) != len(lines) {
			t.Fatalf("prints %q, want %d lines", got, len(lines))
		}
		for i, line := range lines {
			if !strings.HasPrefix(got[i], line) {
				t.Errorf("prints %q, want %q", got[i], line)
			}
		}
	}
	checked(exitFailed, "WRONG   container runtime at "+path+": ", "ok      static pods in "+folder+": 0")
	f.listen(path)
	checked(exitOK, "ok      container runtime at "+path+": fake 1.0", "unknown logs of containers", "ok      static pods in "+folder+": 0")
	f.box("ns", "p", "u")
	log := filepath.Join(folder, "0.log")
	f.record("u", runningStatus("a", 0, log))
	checked(exitFailed, "ok      container runtime", "WRONG   logs of containers, such as "+log+": ", "ok      static pods")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checked(exitFailed, "ok      container runtime", "ok      logs of containers, such as "+log, "WRONG   static pods in "+folder+": 0: "+log+": not a pod")
	if err := os.Rename(log, filepath.Join(folder, ".0.log")); err != nil {
		t.Fatal(err)
	}
	args[2] = filepath.Join(folder, "missing")
	checked(exitFailed, "ok      container runtime", "WRONG   logs", "WRONG   static pods in "+args[2])
}
