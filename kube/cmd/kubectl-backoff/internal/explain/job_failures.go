package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Failure is a failed pod of a Job.
type Failure struct {
	Pod     string       `json:"pod"`
	Index   int          `json:"index"` // -1 if none
	At      time.Time    `json:"at,omitzero"`
	Exit    string       `json:"exit"`              // the end, as far as the pod shows it
	Message string       `json:"message,omitempty"` // last words of the container
	Action  batch.Action `json:"action,omitempty"`  // of the rule that decided; "" if none
	Rule    int          `json:"rule"`              // its index, -1 if none
	Counted bool         `json:"counted"`           // towards the limits
	Rules   []string     `json:"rules,omitempty"`   // why each rule did or did not decide

	container string // whose exit it was; "" if unknown
}

// failed returns the number of counted failures, including those that the status does
// not have yet.
func (j *jobView) failed() int {
	s := &j.job.Status
	n := int(s.Failed)
	if u := s.UncountedTerminatedPods; u != nil {
		n += len(u.Failed)
	}
	if !j.planned {
		return n
	}
	failed := make(map[string]bool)
	for _, p := range j.pods {
		failed[p.Name] = p.Status.Phase == batch.PodFailed
	}
	for i := range j.plan.Decisions {
		if d := &j.plan.Decisions[i]; !d.Untracked && d.Match.Counted() && failed[d.Name] {
			n++
		}
	}
	return n
}

// countedFailures returns the number of visible failed pods that the status counts.
func (j *jobView) countedFailures() (n int) {
	for _, p := range j.pods {
		if p.Status.Phase == batch.PodFailed && !p.Tracked() && jobpolicy.MatchPod(j.spec.PodFailurePolicy, p).Counted() {
			n++
		}
	}
	return n
}

// failures returns the visible failed pods, the latest first.
func (j *jobView) failures() (all []Failure) {
	for _, p := range j.pods {
		if p.Status.Phase != batch.PodFailed {
			continue
		}
		m := jobpolicy.MatchPod(j.spec.PodFailurePolicy, p)
		f := Failure{Pod: p.Name, Index: -1, At: p.FinishTime(), Action: m.Action, Rule: m.Rule, Counted: m.Counted()}
		f.Exit, f.Message, f.container = podExit(p)
		if j.spec.CompletionMode == batch.IndexedCompletion {
			f.Index = p.CompletionIndex()
		}
		for _, r := range jobpolicy.Explain(j.spec.PodFailurePolicy, p) {
			f.Rules = append(f.Rules, line(r.String()))
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Failure) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Pod, b.Pod)) })
	return all
}

// podExit describes the end of a failed pod, and returns the termination message of the
// container that failed, and its name.
func podExit(p *batch.Pod) (exit, message, container string) {
	reason := ""
	if p.Status.Reason != "" || p.Status.Message != "" {
		reason = "the pod failed" + conditionText(p.Status.Reason, p.Status.Message)
	}
	for _, statuses := range [][]batch.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range statuses {
			if t := statuses[i].State.Terminated; t != nil && t.ExitCode != 0 {
				text, words := "ended with "+exitText(t.ExitCode, t.Signal, t.Reason), t.Message
				switch { // messages of the kubelet and of the runtime are no last words
				case t.Reason == lost:
					text, words = "was lost: the kubelet has not seen its end", ""
				case t.Reason == "StartError":
					text, words = sentence(": ", text, line(words)), ""
				}
				return sentence("; ", reason, "container "+line(statuses[i].Name)+" "+text), words, statuses[i].Name
			}
		}
	}
	return cmp.Or(reason, "the pod does not show why it failed"), "", ""
}
