package explain

import (
	"strings"
	"testing"
)

// A condition is printed with its status, since "Available" alone would say the opposite,
// and what keeps a controller from creating pods has a remedy.
func TestWorkloadsWithoutPods(t *testing.T) {
	o := Owner{Kind: "Deployment", Namespace: "shop", Name: "web", Wanted: 2}
	o.AddCondition(Condition{Type: "Available", Status: "False", Reason: "MinimumReplicasUnavailable", Message: "Deployment does not have minimum availability."})
	o.AddCondition(Condition{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: `pods "web-1" is forbidden: exceeded quota: small, requested: pods=1`})
	w := New(Objects{}, noon).Workload(o, nil, nil)
	var text strings.Builder
	(&Printer{W: &text, Options: noon}).Workload(&w)
	for _, part := range []string{
		"it has no pod, and wants 2; Available is False (MinimumReplicasUnavailable): Deployment does not have minimum availability; ReplicaFailure is True (FailedCreate)",
		"to do         raise the ResourceQuota or free what it counts: kubectl describe quota -n shop\n",
		"conditions    Available False (MinimumReplicasUnavailable)\n",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("want %q in\n%s", part, text.String())
		}
	}
}

// A suspended CronJob says how it goes on.
func TestSuspendedCronJob(t *testing.T) {
	w := New(Objects{}, noon).Workload(Owner{Kind: "CronJob", Namespace: "shop", Name: "nightly", Wanted: -1, Suspended: true}, nil, nil)
	if w.Trouble || w.Advice != "to start Jobs again, set spec.suspend to false" {
		t.Errorf("trouble %v, advice %q", w.Trouble, w.Advice)
	}
}
