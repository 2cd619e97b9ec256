package jobfields

import (
	"testing"

	"github.com/restartkit/restart/cmd/internal/document"
)

func TestFieldsOfJobsAreKnown(t *testing.T) {
	types, err := Types()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{spec: {podFailurePolicy: {rules: [{name: a, onExitCodes: {containerName: b}}]}}}":                                    "",
		"{spec: {template: {spec: {containers: [{livenessProbe: {httpGet: {port: 1}}}]}}}}":                                    "",
		"{spec: {template: {spec: {volumes: [{ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {a: 1}}}}}}]}}}}": "",
		"{spec: {template: {spec: {initContainers: [{restartPolicyRules: [{exitCodes: {values: [1]}}]}]}}}}":                   "",
		"{kind: CronJob, spec: {jobTemplate: {spec: {template: {metadata: {labels: {a: b}}}}}}}":                               "",
		"{spec: {paralelism: 1}}": "line 1: spec.paralelism: unknown field: did you mean parallelism?",
	} {
		n, err := document.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		kind := n.Field("kind").Text()
		if kind == "" {
			kind = "Job"
		}
		if _, found := document.Fit(n, types[kind]); found.Error() != want {
			t.Errorf("%s: %v, want %q", text, found, want)
		}
	}
}
