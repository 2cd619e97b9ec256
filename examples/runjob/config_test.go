package main

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/examples/internal/programtest"
	"github.com/restartkit/restart/jobpolicy"
)

func TestEnvFileLinesAreReadOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"\ufeffA=1\r\n# comment\n\nB=2": "A=1 B=2",
		"export A = x y \nB==\nC=":      "A=x y B== C=",
		`A='$x\n'` + "\n" + `B="a\"b"`:  `A=$x\n B=a"b`,
		"A=1\nA=2":                      "A=2",
		"A=x#y":                         "A=x#y",
		"A":                             "! line 1: must be NAME=VALUE",
		"A=1\n=2":                       "! line 2: must be NAME=VALUE",
		"export\tA=1":                   "A=1",
		"A B=1":                         "! line 1: must be NAME=VALUE",
		"export A B=1":                  "! line 1: must be NAME=VALUE",
		`A="x`:                          "! line 1: the value of A must end with the \" that it begins with",
		"A='":                           "! line 1: the value of A must end with the ' that it begins with",
		`A="x" # y`:                     "! line 1: the value of A must end with the \" that it begins with",
		`A="x"y"`:                       `! line 1: the value of A must have a \ before each " and \ in it`,
		"A=x\x00":                       "! line 1: must not have a NUL character",
	} {
		values, err := parseEnvFile(text)
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			var lines []string
			for _, name := range slices.Sorted(maps.Keys(values)) {
				lines = append(lines, name+"="+values[name])
			}
			got = strings.Join(lines, " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

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
        `+tt.container, reading{validate: strictly, envFiles: envFiles{tt.lines}})
		if err != nil {
			t.Fatal(name, err)
		}
		m.config.machine = func(name string) (string, bool) { value, ok := tt.machine[name]; return value, ok }
		_, env, err := m.config.environment(nil, &jobpolicy.Pod{ObjectMeta: jobpolicy.ObjectMeta{Name: "pod"}}, m.job.Spec.Template.Spec.Containers[0], m.sources["main"])
		got := strings.TrimSpace(strings.Replace(strings.Join(env, " ")+" ", "HOSTNAME=pod ", "", 1))
		if err != nil {
			got = "! " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// What cannot be a source is told, with its path.
func TestWrongSourcesAreNamedWithTheirPath(t *testing.T) {
	for source, want := range map[string]string{
		"env: [{name: A, valueFrom: {}}]":                                                                      "env[0].valueFrom: invalid value: must have fieldRef, secretKeyRef or configMapKeyRef",
		"env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]":                        "env[0].valueFrom: invalid value: must not be there beside a value",
		"env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, secretKeyRef: {name: x, key: z}}}]": "env[0].valueFrom: invalid value: must have only one source",
		"env: [{name: A, valueFrom: {secretKeyRef: {key: z}}}]":                                                "env[0].valueFrom.secretKeyRef.name: required",
		"env: [{name: A, valueFrom: {configMapKeyRef: {name: z}}}]":                                            "env[0].valueFrom.configMapKeyRef.key: required",
		"env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]":                              "env[0].valueFrom.resourceFieldRef: unsupported value: a process has none",
		"envFrom: [{prefix: x}]":                                     "envFrom[0]: invalid value: must have secretRef or configMapRef",
		"envFrom: [{secretRef: {}}]":                                 "envFrom[0].secretRef.name: required",
		"envFrom: [{secretRef: {name: x}, configMapRef: {name: z}}]": "envFrom[0]: invalid value: must have secretRef or configMapRef, not both",
	} {
		_, err := decode(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: wrong}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, command: [x],\n"+source+"}]}}}", reading{validate: strictly})
		wrong, ok := err.(mistakes)
		if want := "line 5: spec.template.spec.containers[0]." + want; !ok || len(wrong) != 1 || wrong[0].String() != want {
			t.Errorf("%s: %v, want %s", source, wrong, want)
		}
	}
	_, err := decode(t, named("Job", "name: a")+"---\nkind: Secret\nmetadata: {name: s}\ndata: {a: '%', b: 1}\n", reading{validate: strictly})
	if wrong, ok := err.(mistakes); !ok || len(wrong) != 2 || !strings.HasPrefix(wrong[0].String(), "line 8: Secret s (line 6): data[b]: ") {
		t.Errorf("%v", err)
	}
}

// TestWrongValuesOfASecretHaveTheirLines, in their order.
func TestWrongValuesOfASecretHaveTheirLines(t *testing.T) {
	text := named("Job", "name: a") + "---\nkind: Secret\nmetadata: {name: s}\ndata:\n  tls: ''\n  tls.key: '%'\n  tls.crt: '%'\n  tls.ca: 1\n  a: '%'\n"
	for range 5 {
		_, err := decode(t, text, reading{validate: strictly})
		wrong, _ := err.(mistakes)
		var at []string
		for _, m := range wrong {
			line, _, _ := strings.Cut(m.String(), ": Secret")
			_, key, _ := strings.Cut(m.String(), "data[")
			key, _, _ = strings.Cut(key, "]")
			at = append(at, line+" "+key)
		}
		if diff := cmp.Diff([]string{"line 10 tls.key", "line 11 tls.crt", "line 12 tls.ca", "line 13 a"}, at); diff != "" {
			t.Fatal(diff)
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
