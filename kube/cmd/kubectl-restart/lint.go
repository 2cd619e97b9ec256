package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/cmd/kubectl-restart/internal/explain"
)

// lint reviews everything with a pod template.
func (p *program) lint() (int, error) {
	if len(p.o.args) > 0 {
		return 0, usagef("lint takes no names; use -n, -A and -l")
	}
	if _, err := explain.Lint(nil, p.o.forVersion); err != nil {
		return 0, usagef("--for %w", err)
	}
	c, err := connect(p.o)
	if err != nil {
		return 0, err
	}
	var subjects []explain.Subject
	read := 0
	for _, kind := range lintKinds(c) {
		more, err := kind.list(metav1.ListOptions{LabelSelector: p.o.selector}, p)
		if isForbidden(err) {
			p.warn("%v", err)
			continue
		}
		if err != nil {
			return 0, err
		}
		read++
		subjects = append(subjects, more...)
	}
	if read == 0 {
		return exitCluster, nil
	}
	groups, err := explain.Lint(subjects, p.o.forVersion)
	if err != nil {
		return 0, usageError{err}
	}
	err = p.print(map[string]any{"items": groups}, func(w *explain.Printer) {
		w.Groups(groups)
		if len(groups) == 0 {
			fmt.Fprintf(w.W, "nothing found in %d objects%s\n", len(subjects), c.in())
		}
	})
	if len(groups) > 0 {
		return exitFound, err
	}
	return exitOK, err
}

// lintKind is a kind of object to review.
type lintKind struct {
	name string
	list func(metav1.ListOptions, *program) ([]explain.Subject, error)
}

// lintKinds returns the kinds to review, owners before the objects that they own.
func lintKinds(c *cluster) []lintKind {
	apps, batch := c.client.AppsV1(), c.client.BatchV1()
	const template = "spec.template.spec"
	return []lintKind{
		kindOf(c, "CronJob", batch.CronJobs(c.namespace).List, func(l *batchv1.CronJobList) []batchv1.CronJob { return l.Items }, func(x *batchv1.CronJob) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: "spec.jobTemplate.spec", Job: &x.Spec.JobTemplate.Spec, JobMeta: &x.Spec.JobTemplate.ObjectMeta}
		}),
		kindOf(c, "Job", batch.Jobs(c.namespace).List, func(l *batchv1.JobList) []batchv1.Job { return l.Items }, func(x *batchv1.Job) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: "spec", Job: &x.Spec, JobMeta: &x.ObjectMeta}
		}),
		kindOf(c, "Deployment", apps.Deployments(c.namespace).List, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, func(x *appsv1.Deployment) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: template, Pod: &x.Spec.Template.Spec}
		}),
		kindOf(c, "StatefulSet", apps.StatefulSets(c.namespace).List, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items }, func(x *appsv1.StatefulSet) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: template, Pod: &x.Spec.Template.Spec}
		}),
		kindOf(c, "DaemonSet", apps.DaemonSets(c.namespace).List, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items }, func(x *appsv1.DaemonSet) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: template, Pod: &x.Spec.Template.Spec}
		}),
		kindOf(c, "ReplicaSet", apps.ReplicaSets(c.namespace).List, func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items }, func(x *appsv1.ReplicaSet) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: template, Pod: &x.Spec.Template.Spec}
		}),
		kindOf(c, "Pod", c.client.CoreV1().Pods(c.namespace).List, func(l *corev1.PodList) []corev1.Pod { return l.Items }, func(x *corev1.Pod) explain.Subject {
			return explain.Subject{Meta: &x.ObjectMeta, Path: "spec", Pod: &x.Spec}
		}),
	}
}

// kindOf returns a kind whose objects get and items read, page by page.
func kindOf[L interface{ GetContinue() string }, T any](c *cluster, name string, get func(context.Context, metav1.ListOptions) (L, error), items func(L) []T, subject func(*T) explain.Subject) lintKind {
	return lintKind{name, func(o metav1.ListOptions, p *program) ([]explain.Subject, error) {
		objects, err := list(p.in, o, get, items)
		all := make([]explain.Subject, len(objects))
		for i, x := range objects {
			all[i] = subject(x)
			all[i].Kind, all[i].Object = name, x
		}
		return all, c.explainError(strings.ToLower(name)+"s"+c.in(), err)
	}}
}
