package main

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/kube/cmd/kubectl-restart/internal/explain"
)

// next prints all waiting containers and Jobs.
func (p *program) next() (int, error) {
	if len(p.o.args) > 0 {
		return 0, usagef("next takes no names; use -n, -A and -l")
	}
	c, err := connect(p.o)
	if err != nil {
		return 0, err
	}
	pods, podsErr := c.pods(p.in, p.o.selector)
	if podsErr != nil && !isForbidden(podsErr) {
		return 0, podsErr
	}
	jobs, jobsErr := c.jobs(p.in, p.o.selector)
	if jobsErr != nil && !isForbidden(jobsErr) {
		return 0, jobsErr
	}
	for _, err := range []error{podsErr, jobsErr} {
		if err != nil {
			p.warn("%v", err)
		}
	}
	switch {
	case podsErr != nil && jobsErr != nil:
		return exitCluster, nil
	case podsErr != nil:
		jobs = nil // without their pods, all of their pods would seem due
		p.warn("Jobs are left out, too, because their delays depend on their pods")
	}
	if p.o.watch {
		return exitOK, p.watchNext(c, podsErr == nil, podsErr == nil && jobsErr == nil)
	}
	return exitOK, p.printNext(pods, jobs)
}

func (p *program) printNext(pods []*corev1.Pod, jobs []*batchv1.Job) error {
	all := explain.Next(pods, jobs, p.facts())
	return p.print(map[string]any{"items": orEmpty(all)}, func(w *explain.Printer) { w.Next(all) })
}
