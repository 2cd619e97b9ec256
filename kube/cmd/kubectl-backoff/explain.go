package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// selected reads the objects that the arguments and flags select, from files or the cluster.
func (p *program) selected(ctx context.Context, args []string) (*selection, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if len(p.files) > 0 {
		return p.fromFiles(args)
	}
	if _, _, err := canonical(args); err != nil {
		return nil, err
	}
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	return p.fromCluster(ctx, c, args)
}

// explain explains the objects that the arguments name, or those in trouble.
func (p *program) explain(c *cobra.Command, args []string) error {
	s, err := p.selected(c.Context(), args)
	if err != nil {
		return err
	}
	for _, missing := range s.missing {
		fmt.Fprintf(p.ErrOut, "error: %v\n", missing)
	}
	if !s.named {
		sortTargets(s.targets)
	}
	explainer := explain.New(s.objects, p.options())
	all := make([]any, 0, len(s.targets))
	for _, t := range s.targets {
		all = append(all, explained(explainer, t))
	}
	if len(all) > 0 || len(s.missing) == 0 {
		if err := p.printExplained(s, all); err != nil {
			return err
		}
	}
	if len(s.missing) > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

// explained explains an object.
func explained(x *explain.Explainer, object metav1.Object) any {
	switch o := object.(type) {
	case *corev1.Pod:
		pod := x.Pod(o)
		return &pod
	case *batchv1.Job:
		job := x.Job(o)
		return &job
	}
	owner, _ := ownerOf(object)
	owner.Manifest = object.GetUID() == ""
	owner.Events = x.EventsOf(owner.Kind, object)
	owner.Findings = explain.FindingsOf(object)
	var pods []explain.Pod
	for _, pod := range x.Pods {
		if belongs(pod, object) {
			pods = append(pods, x.Pod(pod))
		}
	}
	var jobs []explain.Job
	for _, job := range x.Jobs {
		if c := metav1.GetControllerOf(job); c != nil && c.UID == object.GetUID() {
			jobs = append(jobs, x.Job(job))
		}
	}
	w := x.Workload(owner, pods, jobs)
	return &w
}

func (p *program) printExplained(s *selection, all []any) error {
	return p.print("ExplanationList", all, p.namesOf(s.targets), func(w *explain.Printer) {
		switch {
		case len(all) == 0:
			fmt.Fprintf(w.W, "no pods and no Jobs%s\n", p.where())
		case len(all) == 1 || s.named:
			for i, x := range all {
				if i > 0 {
					fmt.Fprintln(w.W)
				}
				w.Object(x)
			}
		default:
			w.List(all)
		}
	})
}

// where says where objects were looked for.
func (p *program) where() string {
	switch {
	case len(p.files) > 0:
		names := slices.Clone(p.files)
		if i := slices.Index(names, "-"); i >= 0 {
			names[i] = "standard input"
		}
		return " in " + strings.Join(names, ", ")
	case p.allNamespaces:
		return in(metav1.NamespaceAll)
	}
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return ""
	}
	return in(namespace)
}

// namesOf returns the names of objects as -o name prints them.
func (p *program) namesOf(targets []metav1.Object) []string {
	names := []string{}
	for _, o := range targets {
		names = append(names, nameOf(kindOf(o), o.GetName()))
	}
	return names
}

// nameOf returns the name of an object, such as job.batch/import.
func nameOf(kind, name string) string {
	if t := typeOf(kind); t != nil && t.kind.Group != "" {
		return fmt.Sprintf("%s.%s/%s", t.names[1], t.kind.Group, name)
	}
	return strings.ToLower(kind) + "/" + name
}
