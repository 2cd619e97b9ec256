package jobcontroller

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/convert"
)

// pass is one pass over a Job. It observes, plans and carries the plan out.
type pass struct {
	*Controller
	key    string
	record *jobRecord
	job    *batchv1.Job // as last written
	engine jobpolicy.Engine
	action string // value of the metrics' action label
}

// syncJob makes a pass over the Job with this key.
func (c *Controller) syncJob(ctx context.Context, key string) error {
	job := c.jobs.get(key)
	if job == nil || !c.ours(job) {
		c.records.forget(key)
		return nil
	}
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("job", key))
	p := &pass{Controller: c, key: key, record: c.records.of(key, job.UID), job: job, action: "reconciling"}
	began := c.options.Clock.Now()
	err := p.once(ctx, job)
	if errors.Is(err, errGone) {
		return nil // the informer will show it
	}
	p.measure(c.options.Clock.Since(began), err)
	return err
}

// once makes the pass over cached, the informer's copy of the Job.
func (p *pass) once(ctx context.Context, cached *batchv1.Job) error {
	unanswered := p.resolve(ctx)
	if p.record.unacknowledged.write != nil {
		p.enqueue(p.key, writeAgain)
		return unanswered
	}
	p.look(p.record.newest(cached))
	if finished(p.job) {
		if finished(cached) {
			p.records.forget(p.key)
		} else {
			p.metrics.staleSkips.add(1, batchv1.GroupName, "jobs")
		}
		return unanswered
	}
	p.engine = p.settings(ctx, p.job)
	p.record.restore(p.job, p.pods.version(), klog.FromContext(ctx))
	if p.record.overtaken {
		if err := p.catchUp(ctx); err != nil {
			return errors.Join(unanswered, err)
		}
	}
	if p.isBehind(ctx) {
		return unanswered
	}
	in, err := p.observe(ctx)
	if err != nil {
		return errors.Join(unanswered, err)
	}
	plan, err := p.plan(ctx, &in)
	if err != nil {
		return errors.Join(unanswered, err)
	}
	p.name(plan, in)
	err = p.carryOut(ctx, plan, in)
	return errors.Join(unanswered, err)
}

// look makes job the pass's Job and writes Events about its conditions.
func (p *pass) look(job *batchv1.Job) {
	p.job = job
	if seen := p.record.announced.job; seen != nil {
		for _, e := range conditionEvents(seen.Status.Conditions, job) {
			p.events.Event(job, e.kind, e.reason, e.message)
		}
	}
	p.record.announced.job = job
}

// settings returns the Engine for the Job. It reports mistakes in the Job's annotations
// and an unknown completion mode.
func (p *pass) settings(ctx context.Context, job *batchv1.Job) jobpolicy.Engine {
	engine, mistakes := WithAnnotations(p.options.Engine, job.Annotations)
	for _, m := range p.record.unannounced(mistakes) {
		klog.FromContext(ctx).Info("ignoring an invalid annotation", "mistake", m.Error())
		p.events.Event(job, corev1.EventTypeWarning, "InvalidAnnotation", m.Error())
	}
	if mode := job.Spec.CompletionMode; mode != nil && *mode != batchv1.NonIndexedCompletion && *mode != batchv1.IndexedCompletion {
		p.events.Event(job, corev1.EventTypeWarning, "UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")
	}
	return engine
}

// observe returns the input to plan on. It reads the version of the pod store, and
// settles the removed finalizers, before it reads the pods.
func (p *pass) observe(ctx context.Context) (jobpolicy.Input, error) {
	version := p.pods.version()
	p.record.settleFinalizers(version, p.shown)
	p.expectLost(ctx)
	pods, err := p.claim(ctx, p.job, p.record.finalizers)
	if err != nil {
		return jobpolicy.Input{}, err
	}
	p.record.expectGone(pods)
	now, r := p.options.Clock.Now(), p.record
	open, givenUp := r.settlePods(pods, version, p.shown, now)
	if givenUp > 0 {
		klog.FromContext(ctx).Error(nil, "giving up on creations or deletions of pods that did not appear in the informer", "pods", givenUp, "after", expectationsEnd)
	}
	switch {
	case open > 0 && r.live != nil:
		p.enqueue(p.key, lookAgain)
	case open > 0:
		p.enqueue(p.key, expectationsEnd)
	}
	return jobpolicy.Input{
		Job:                 convert.Job(p.job),
		Pods:                convert.Pods(pods),
		State:               r.state,
		ExpectationsPending: open+len(r.unacknowledged.deletions) > 0,
		FinalizersRemoved:   r.finalizers.uids(),
		Now:                 now,
	}, nil
}

// expectLost checks for the pods of creations without an answer.
func (p *pass) expectLost(ctx context.Context) {
	if n := p.record.unacknowledged.settle(p.job.UID, p.shown, p.options.Clock.Now()); n > 0 {
		klog.FromContext(ctx).Error(nil, "giving up on unanswered creations of pods that did not appear in the informer", "pods", n, "after", expectationsEnd)
	}
	if len(p.record.unacknowledged.creations) > 0 {
		p.enqueue(p.key, expectationsEnd)
	}
}

// shown returns the pod with this name in the Job's namespace, or nil if the informer
// does not show it.
func (p *pass) shown(name string) *corev1.Pod { return p.pods.get(keyOf(p.job.Namespace, name)) }

// plan asks the Engine for a plan. If the Job's status is older than the last write,
// plan reads the Job from storage. If that status is older as well, somebody has set it
// back, and plan accepts it.
func (p *pass) plan(ctx context.Context, in *jobpolicy.Input) (jobpolicy.Plan, error) {
	plan, err := p.engine.Plan(*in)
	if err == nil && plan.RequeueReason == jobpolicy.RequeueStaleJob {
		var fresh *batchv1.Job
		if fresh, err = p.freshJob(ctx, p.job); err != nil {
			return plan, err
		}
		p.record.wroteAt(fresh)
		p.look(fresh)
		if p.record.restore(fresh, p.pods.version(), klog.FromContext(ctx)); p.record.overtaken {
			return plan, fmt.Errorf("%w, by another controller", errOutdated)
		}
		in.Job = convert.Job(fresh)
		if plan, err = p.engine.Plan(*in); err == nil && plan.RequeueReason == jobpolicy.RequeueStaleJob {
			klog.FromContext(ctx).Info("accepting a status that another writer has set back", "notes", plan.Notes)
			in.State.Written = jobpolicy.State{}.Written
			plan, err = p.engine.Plan(*in)
		}
	}
	if err != nil {
		return plan, fmt.Errorf("planning: %w", err)
	}
	if logger := klog.FromContext(ctx).V(3); logger.Enabled() {
		logger.Info("planned", "delete", len(plan.Delete), "create", len(plan.Create), "record", plan.InterimStatus != nil, "release", len(plan.Release),
			"status", plan.FinalStatus != nil, "requeueAfter", plan.RequeueAfter, "requeueReason", plan.RequeueReason, "notes", plan.Notes)
	}
	return plan, nil
}

// name sets the kind of pass, as named by the metrics.
func (p *pass) name(plan jobpolicy.Plan, in jobpolicy.Input) {
	untracks := func() bool {
		return len(plan.Delete) > 0 && (plan.Delete[0].Untrack || plan.MetricDeltas.Finished == "")
	}
	switch {
	case in.ExpectationsPending:
	case len(plan.Create) > 0, plan.RequeueReason == jobpolicy.RequeueDelay, plan.RequeueReason == jobpolicy.RequeueBatch:
		p.action = "pods_created"
	case untracks():
		p.action = "pods_deleted"
	case plan.MetricDeltas.Finished == "":
		p.action = "tracking"
	}
}
