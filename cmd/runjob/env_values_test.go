package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Where a value comes from, what comes first, and that one which is nowhere is never
// empty.
func TestFirstSourceOfAValueWins(t *testing.T) {
	const objects = `
apiVersion: v1
kind: Secret
metadata: {name: db}
data: {password: c2VjcmV0, user: b2xk}
stringData: {user: admin}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LEVEL: debug, mode: fast}
---
`
	secret := func(name, key, more string) string {
		return "env: [{name: VAR, valueFrom: {secretKeyRef: {name: " + name + ", key: " + key + more + "}}}]"
	}
	for name, tt := range map[string]struct {
		container string
		lines     map[string]string
		machine   map[string]string
		want      string // of the variables, or behind ! the error
	}{
		"encoded":             {secret("db", "password", ""), nil, nil, "VAR=secret"},
		"plain":               {secret("db", "user", ""), nil, nil, "VAR=admin"},
		"a ConfigMap":         {"env: [{name: VAR, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}]", nil, nil, "VAR=fast"},
		"exported":            {secret("x", "k", ""), nil, map[string]string{"VAR": "", "k": "no"}, "VAR="},
		"a line":              {secret("x", "k", ""), map[string]string{"VAR": "1", "k": "2"}, map[string]string{"VAR": "3"}, "VAR=1"},
		"a line of the key":   {secret("db", "user", ""), map[string]string{"user": "2"}, nil, "VAR=2"},
		"an object, exported": {secret("db", "user", ""), nil, map[string]string{"VAR": "3"}, "VAR=admin"},
		"no object":           {secret("x", "k", ""), nil, map[string]string{"k": "no"}, `! secret "x" not found: export VAR, or write it or k into a file for -env-file`},
		"of the other kind":   {secret("settings", "mode", ""), nil, nil, `! secret "settings" not found: export VAR, or write it or mode into a file for -env-file`},
		"no key":              {secret("db", "k", ""), nil, nil, "! couldn't find key k in Secret default/db: export VAR, or write it or k into a file for -env-file"},
		"optional":            {secret("x", "k", ", optional: true"), nil, nil, ""},
		"optional, there":     {secret("db", "user", ", optional: true"), nil, nil, "VAR=admin"},
		"all":                 {"envFrom: [{prefix: P_, configMapRef: {name: settings}}]", nil, nil, "P_LEVEL=debug P_mode=fast"},
		"all lines":           {"envFrom: [{secretRef: {name: x}}]", map[string]string{"A": "1", "B": "2"}, nil, "A=1 B=2"},
		"lines first":         {"envFrom: [{configMapRef: {name: settings}}]", map[string]string{"mode": "slow"}, nil, "LEVEL=debug mode=slow"},
		"all of nothing":      {"envFrom: [{configMapRef: {name: x}}]", nil, nil, `! configmap "x" not found: write its keys into a file for -env-file`},
		"all, optional":       {"envFrom: [{configMapRef: {name: x, optional: true}}]", nil, nil, ""},
		"the later one holds": {"envFrom: [{configMapRef: {name: settings}}]\n        env: [{name: mode, value: x$(LEVEL)}]", nil, nil, "LEVEL=debug mode=xdebug"},
		"all that is missing": {"env: [{name: B, valueFrom: {secretKeyRef: {name: x, key: b}}}, {name: A, valueFrom: {secretKeyRef: {name: x, key: a}}}]\n        envFrom: [{configMapRef: {name: settings2}}]", nil, nil, `! configmap "settings2" not found: write its keys into a file for -env-file; secret "x" not found: export A, or write it or a into a file for -env-file; secret "x" not found: export B, or write it or b into a file for -env-file`},
		"two of one name":     {"env: [{name: VAR, valueFrom: {secretKeyRef: {name: db, key: user}}}, {name: VAR, value: x}]", nil, nil, "VAR=x"},
	} {
		m, err := decode(t, objects+`
apiVersion: batch/v1
kind: Job
metadata: {name: values}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        command: [x]
        `+tt.container, reading{Reading: jobfile.Reading{Validate: jobfile.Strict}, envFiles: envFiles{lines: tt.lines}})
		if err != nil {
			t.Fatal(name, err)
		}
		m.config.machine = func(name string) (string, bool) { value, ok := tt.machine[name]; return value, ok }
		_, env, err := m.config.environment(nil, &batch.Pod{ObjectMeta: batch.ObjectMeta{Name: "pod"}}, m.Job.Spec.Template.Spec.Containers[0], m.Sources["main"])
		got := strings.TrimSpace(strings.Replace(strings.Join(env, " ")+" ", "HOSTNAME=pod ", "", 1))
		if err != nil {
			got = "! " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

const needsToken = `
apiVersion: batch/v1
kind: Job
metadata: {name: token}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        command: [sh, -c, "echo token=$TOKEN on $HOSTNAME"]
        env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: api, key: token}}}]
`

// The container is not started, the pod says why, and an interruption ends the wait.
func TestContainerWaitsForMissingSecret(t *testing.T) {
	t.Parallel()
	p := start(t, needsToken, "-")
	p.Err.Says(`pod token-1: container main waits: CreateContainerConfigError: secret "api" not found: export TOKEN, or write it or token into a file for -env-file; interrupt runjob (Ctrl-C) to end the wait`, 1)
	p.Signal(syscall.SIGINT)
	p.Done(exitInterrupted)
	if text := p.Err.String(); strings.Contains(text, "token=") || !strings.Contains(text, "pod token-1: ended before a process was started") {
		t.Error(text)
	}
	two := strings.Replace(needsToken, "env: [", "env: [{name: URL, valueFrom: {configMapKeyRef: {name: web, key: url}}}, ", 1)
	dry := start(t, two, "-dry-run", "-")
	dry.Done(exitComplete)
	if !strings.Contains(dry.Out.String(), `its pods would wait: CreateContainerConfigError: container main: configmap "web" not found: export URL, or write it or url into a file for -env-file; secret "api" not found: export TOKEN,`) {
		t.Error(dry.Out.String())
	}
}

func TestSecretsFromTheEnvironmentAndFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := programtest.WriteFile(t, dir, "a.env", "token=from a file\n", 0o600)
	exported := programtest.New(t, "-")
	exported.Stdin = strings.NewReader(needsToken)
	exported.Env = append(exported.Env, "TOKEN=exported")
	exported.Start()
	exported.Done(exitComplete)
	given := start(t, needsToken, "-env-file", file, "-")
	given.Done(exitComplete)
	for p, want := range map[*programtest.Program]string{exported: "token=exported on token-1\n", given: "token=from a file on token-1\n"} {
		if !strings.Contains(p.Err.String(), want) {
			t.Errorf("want %q:\n%s", want, p.Err.String())
		}
	}
	start(t, needsToken, "-env-file", dir+"/missing", "-").Done(exitBad)
}
