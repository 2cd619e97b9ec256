package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/cmd/internal/document"
)

// A wrong source is reported with its path.
func TestWrongSourcesAreNamedWithTheirPath(t *testing.T) {
	for source, want := range map[string]string{
		"env: [{name: A, valueFrom: {}}]":                                                                      "env[0].valueFrom: invalid value: must have fieldRef, secretKeyRef or configMapKeyRef",
		"env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]":                        "env[0].valueFrom: invalid value: must be absent beside a value",
		"env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, secretKeyRef: {name: x, key: z}}}]": "env[0].valueFrom: invalid value: must have only one source",
		"env: [{name: A, valueFrom: {secretKeyRef: {key: z}}}]":                                                "env[0].valueFrom.secretKeyRef.name: required",
		"env: [{name: A, valueFrom: {configMapKeyRef: {name: z}}}]":                                            "env[0].valueFrom.configMapKeyRef.key: required",
		"env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]":                              "env[0].valueFrom.resourceFieldRef: unsupported value: a process has none",
		"envFrom: [{prefix: x}]":                                     "envFrom[0]: invalid value: must have secretRef or configMapRef",
		"envFrom: [{secretRef: {}}]":                                 "envFrom[0].secretRef.name: required",
		"envFrom: [{secretRef: {name: x}, configMapRef: {name: z}}]": "envFrom[0]: invalid value: must have secretRef or configMapRef, not both",
	} {
		_, err := decode(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: wrong}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, command: [x],\n"+source+"}]}}}", strict)
		wrong, ok := err.(document.Mistakes)
		if want := "line 5: spec.template.spec.containers[0]." + want; !ok || len(wrong) != 1 || wrong[0].String() != want {
			t.Errorf("%s: %v, want %s", source, wrong, want)
		}
	}
	_, err := decode(t, named("name: a")+"---\nkind: Secret\nmetadata: {name: s}\ndata: {a: '%', b: 1}\n", strict)
	if wrong, ok := err.(document.Mistakes); !ok || len(wrong) != 2 || !strings.HasPrefix(wrong[0].String(), "line 8: Secret s (line 6): data[b]: ") {
		t.Errorf("%v", err)
	}
}

// TestWrongValuesOfASecretHaveTheirLines, in their order.
func TestWrongValuesOfASecretHaveTheirLines(t *testing.T) {
	text := named("name: a") + "---\nkind: Secret\nmetadata: {name: s}\ndata:\n  tls: ''\n  tls.key: '%'\n  tls.crt: '%'\n  tls.ca: 1\n  a: '%'\n"
	for range 5 {
		_, err := decode(t, text, strict)
		wrong, _ := err.(document.Mistakes)
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
