package explain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/check"
	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/restartrules"
)

// agentRules are the rules of a pod's annotation for an agent on its node.
type agentRules struct {
	rules *restartrules.Rules // nil if there are none, or wrong ones
	text  string              // a note about the annotation, or ""
}

func readAgentRules(p *corev1.Pod) agentRules {
	text, there := p.Annotations[restartrules.Annotation]
	if !there {
		return agentRules{}
	}
	rules, err := restartrules.Parse(text)
	if err != nil {
		return agentRules{text: "the annotation " + restartrules.Annotation + " is wrong, so every exit is left to the kubelet: " + line(err.Error())}
	}
	return agentRules{rules, fmt.Sprintf("the annotation %s has %s for the agent sooner; where no such agent runs, the kubelet's delays apply", restartrules.Annotation, counted(len(rules.Rules), "rule"))}
}

// askAgent predicts the reaction of an agent on the node to the last exit of a container.
func (v *podView) askAgent(c *Container, h *convert.History) {
	exit, ok := h.Last()
	if v.agent.rules == nil || v.over != "" || !ok || c.State == "running" || c.Decision == nil || c.Decision.Action != backoff.ActionRestart {
		return
	}
	failures := int(min(max(exit.Run, 1), 1<<20))
	action, rule := v.agent.rules.ExitPolicy().DecideExit(exit, failures)
	by := "the annotation's curve"
	if rule >= 0 {
		by = fmt.Sprintf("the annotation's rule %d", rule)
	}
	curve := v.agent.rules.Delay(action, rule)
	switch {
	case curve == nil && action == backoff.ActionGiveUp:
		c.Agent = by + " gives up after this exit, so it is left to the kubelet"
	case curve == nil:
		c.Agent = "no rule of the annotation has a delay for this exit, so it is left to the kubelet"
	default:
		delay := curve.Delay(failures)
		c.Agent = fmt.Sprintf("if the agent sooner runs on the node, it starts again about %s after the exit, by %s", short(delay), by)
		if !exit.Finished.IsZero() {
			c.Agent += ", at " + until(exit.Finished.Add(delay), v.Now)
		}
	}
}

// FindingsOf returns the warnings of package kube/check about an object of a cluster.
func FindingsOf(object metav1.Object) (all []Finding) {
	o, err := check.ObjectOf(object)
	if err != nil {
		return nil
	}
	for _, f := range o.Judge(check.Options{}).Findings {
		if f.Severity == check.Warning {
			all = append(all, Finding{Severity: string(f.Severity), Kind: string(f.Kind), Field: f.Field, Text: line(f.Text)})
		}
	}
	return all
}
