package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// Pods that could not be created cannot say so themselves. Only the Events of their
// workload tell.
func TestWorkloadsWhosePodsAreRefused(t *testing.T) {
	const message = `create Pod web-1 in StatefulSet web failed error: pods "web-1" is forbidden: exceeded quota: small, requested: pods=1`
	refused := func(seconds int) *corev1.Event {
		e := event("FailedCreate", message, 1, seconds)
		e.InvolvedObject = corev1.ObjectReference{Kind: "StatefulSet", Namespace: "shop", Name: "web"}
		return e
	}
	failed := Pod{Name: "web-1", Phase: string(corev1.PodFailed)}
	some := []Pod{{Name: "web-0", Phase: string(corev1.PodRunning)}}
	const says, remedy = "; 2 pods missing, and creating one failed at 11:50:00 (10m ago): create Pod web-1", "raise the ResourceQuota or free what it counts: kubectl describe quota -n shop"
	condition := Condition{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: message}
	for _, tt := range []struct {
		name       string
		pods       []Pod
		event      *corev1.Event
		partial    string
		conditions []Condition
		trouble    bool
		summary    string
		remedy     string
	}{
		{"refused", some, refused(-600), "", nil, true, "1 of 3 pods run without trouble" + says, remedy},
		{"refused, beside one that has failed", []Pod{some[0], failed}, refused(-600), "", nil, true, says, remedy},
		{"all refused", nil, refused(-600), "", nil, true, "it has no pod, and wants 3; creating one failed at 11:50:00 (10m ago): create Pod web-1", remedy},
		{"said by a condition", some, refused(-600), "", []Condition{condition}, true, "1 of 3 pods run without trouble; ReplicaFailure is True", remedy},
		{"starting in order", some, nil, "", nil, false, "1 of 3 pods run without trouble", ""},
		{"refused long ago", some, refused(-1201), "", nil, false, "1 of 3 pods run without trouble", ""},
		{"all there by now", []Pod{some[0], some[0], some[0]}, refused(-600), "", nil, false, "3 of 3 pods run without trouble", ""},
		{"pods not in the files", some, refused(-600), "not in the files", nil, false, "1 of 3 pods run without trouble; 2 pods not in the files", ""},
	} {
		o := Owner{Kind: "StatefulSet", Namespace: "shop", Name: "web", Wanted: 3, Conditions: tt.conditions}
		if tt.event != nil {
			o.Events = []*corev1.Event{tt.event}
		}
		w := New(Objects{Partial: tt.partial}, noon).Workload(o, tt.pods, nil)
		if w.Trouble != tt.trouble || w.Advice != tt.remedy || !strings.Contains(w.Summary, tt.summary) || strings.Count(w.Summary, "exceeded quota") > 1 {
			t.Errorf("%s: trouble %v, advice %q, want %q in %q", tt.name, w.Trouble, w.Advice, tt.summary, w.Summary)
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
