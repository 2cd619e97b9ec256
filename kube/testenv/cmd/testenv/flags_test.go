package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/kube/testenv"
)

func TestFlagsBecomeOptions(t *testing.T) {
	f, err := parse(strings.Fields(`-node -kubernetes 1.36 -controllers *,-job-controller -kubelet syncFrequency=1s
		-kubelet maxPods=5 -kubelet crashLoopBackOff={"maxContainerRestartPeriod":"2s"} -gates A=true,B=false
		-busybox-names a,b -pause-names c -- kubectl get -A pods`), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	f.options.Log = nil
	want := testenv.Options{
		Node: true, Version: "1.36", Controllers: []string{"*", "-job-controller"},
		Kubelet: map[string]any{
			"syncFrequency": "1s", "maxPods": 5.0,
			"crashLoopBackOff": map[string]any{"maxContainerRestartPeriod": "2s"},
		},
		FeatureGates: map[string]bool{"A": true, "B": false},
		BusyboxNames: []string{"a", "b"}, PauseNames: []string{"c"},
	}
	if diff := cmp.Diff(want, f.options); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(f.command, " "); got != "kubectl get -A pods" {
		t.Errorf("the command is %q", got)
	}
}

func TestWrongFlagsSayWhy(t *testing.T) {
	for args, want := range map[string]string{
		"-kubelet-only":                "-kubelet-only needs -node",
		"-controllers *":               "-controllers needs -node",
		"-node -kubelet x":             "not FIELD=VALUE",
		"-gates A=perhaps":             `"A=perhaps" is not NAME=true or NAME=false`,
		"-node -kubelet-only -kubectl": "-kubelet-only does not go with",
		"-node -kubernetes":            "flag needs an argument",
		"-kubernetes 1.2 -build":       `no Kubernetes "1.2", only 1.37 and 1.36`,
		"-node -kubernetes x -build ":  `no Kubernetes "x"`,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &stdout, &stderr); code != 0 || !strings.Contains(stderr.String(), "-node") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
