package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

func (p *program) nextCommand() *cobra.Command {
	watch := false
	c := &cobra.Command{
		Use:   "next",
		Short: "Everything that waits, the next start first",
		Long: `Shows every container, pod and Job that waits, the next start first. Estimated starts
have a tilde. Those that nothing tells, such as pods without a node, come last, and so do
Jobs that fail at their deadline before they would start another pod.

With -w the table is live, on a screen of its own, until you press Ctrl-C. If the output is
not a terminal, each change is a line instead; with -o json, a JSON object in a line.`,
		Example: `  kubectl backoff next -A -w
  kubectl backoff next -n shop -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("next takes no names; use -n, -A and -l")
			}
			return nil
		},
		RunE:              func(c *cobra.Command, _ []string) error { return p.next(c.Context(), watch) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p.addFlags(c)
	p.addTimeFlags(c)
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on and show changes, until interrupted")
	return c
}

// next prints all waiting containers and Jobs.
func (p *program) next(ctx context.Context, watch bool) error {
	switch {
	case watch && p.output != "" && p.output != "json":
		return usagef("-w prints text or -o json")
	case watch && (len(p.files) > 0 || p.fieldSelector != ""):
		return usagef("-w watches a cluster, without -f and --field-selector")
	}
	if err := p.validate(); err != nil {
		return err
	}
	if len(p.files) > 0 {
		s, err := p.fromFiles(nil)
		if err != nil {
			return err
		}
		return p.printNext(s)
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	s, withJobs, err := p.waitingObjects(ctx, c)
	if err != nil {
		return err
	}
	if watch {
		return p.watchNext(ctx, c, s.objects, withJobs)
	}
	return p.printNext(s)
}

// waitingObjects reads the pods and Jobs that may wait, as the targets, and the objects that
// explain them: the pods of each selected Job and the Jobs, whatever their own labels. It
// reports whether Jobs may be read.
func (p *program) waitingObjects(ctx context.Context, c *cluster) (s *selection, withJobs bool, err error) {
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return nil, false, usagef("--selector %q: %w", p.selector, err)
	}
	pods, podsErr := c.pods(ctx, c.namespace, metav1.ListOptions{LabelSelector: p.selector, FieldSelector: p.fieldSelector})
	if podsErr != nil && !isForbidden(podsErr) {
		return nil, false, podsErr
	}
	jobs, jobsErr := c.jobs(ctx, c.namespace, metav1.ListOptions{})
	if jobsErr != nil && !isForbidden(jobsErr) {
		return nil, false, jobsErr
	}
	switch {
	case podsErr != nil: // without their pods, all of the Jobs' pods would seem due
		return nil, false, podsErr
	case jobsErr != nil:
		p.warn("%v", jobsErr)
	}
	s = &selection{targets: labelled(selector, nil, jobs)}
	for _, pod := range pods {
		s.targets = append(s.targets, pod)
	}
	if p.selector == "" && p.fieldSelector == "" {
		s.objects.Pods = pods
	} else if err := p.addPods(ctx, c, s, c.namespace); err != nil {
		return nil, false, err
	}
	s.objects.Jobs = jobs
	if err := p.addEvents(ctx, c, s, c.namespace); err != nil {
		return nil, false, err
	}
	return s, jobsErr == nil, p.addNodes(ctx, c, &s.objects)
}

// labelled returns the pods and Jobs with selected labels.
func labelled(selector labels.Selector, pods []*corev1.Pod, jobs []*batchv1.Job) (all []metav1.Object) {
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			all = append(all, pod)
		}
	}
	for _, job := range jobs {
		if selector.Matches(labels.Set(job.Labels)) {
			all = append(all, job)
		}
	}
	return all
}

// printNext prints what waits among the targets.
func (p *program) printNext(s *selection) error {
	all := s.next(p.options())
	if all == nil {
		all = []explain.Waiting{} // as an empty list in JSON
	}
	names := []string{}
	named := make(map[string]bool)
	for i := range all {
		name := nameOf(strings.ToLower(all[i].Kind), all[i].Name)
		if key := all[i].Namespace + " " + name; !named[key] {
			named[key] = true
			names = append(names, name)
		}
	}
	return p.print("WaitList", all, names, func(w *explain.Printer) { w.Next(all) })
}
