package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		return p.printNext(s.objects, s.isTarget)
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	objects, withJobs, err := p.waitingObjects(ctx, c)
	if err != nil {
		return err
	}
	if watch {
		return p.watchNext(ctx, c, objects, withJobs)
	}
	return p.printNext(objects, func(*explain.Waiting) bool { return true })
}

// waitingObjects reads the pods and Jobs that may wait, and the Events about them. It
// reports whether Jobs may be read.
func (p *program) waitingObjects(ctx context.Context, c *cluster) (objects explain.Objects, withJobs bool, err error) {
	options := metav1.ListOptions{LabelSelector: p.selector, FieldSelector: p.fieldSelector}
	pods, podsErr := c.pods(ctx, c.namespace, options)
	if podsErr != nil && !isForbidden(podsErr) {
		return objects, false, podsErr
	}
	options.FieldSelector = "" // Jobs do not have the fields of pods
	jobs, jobsErr := c.jobs(ctx, c.namespace, options)
	if jobsErr != nil && !isForbidden(jobsErr) {
		return objects, false, jobsErr
	}
	switch {
	case podsErr != nil: // without their pods, all of the Jobs' pods would seem due
		return objects, false, podsErr
	case jobsErr != nil:
		p.warn("%v", jobsErr)
	}
	s := &selection{objects: explain.Objects{Pods: pods, Jobs: jobs}}
	if err := p.addEvents(ctx, c, s, c.namespace); err != nil {
		return objects, false, err
	}
	err = p.addNodes(ctx, c, &s.objects)
	return s.objects, jobsErr == nil, err
}

// printNext prints what waits among the objects and is wanted.
func (p *program) printNext(objects explain.Objects, wanted func(*explain.Waiting) bool) error {
	all := []explain.Waiting{}
	for _, w := range explain.New(objects, p.options()).Next() {
		if wanted(&w) {
			all = append(all, w)
		}
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
