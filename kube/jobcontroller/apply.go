package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/jobpolicy"
)

// carryOut carries a plan out in its order. If a deletion or creation fails, carryOut
// plans again, without pod changes, to record ends and release pods, because a quota
// that counts ended pods may otherwise prevent every creation. If creations without an
// answer remain open, it plans again as well, so that the plan does not finish the Job.
func (p *pass) carryOut(ctx context.Context, plan jobpolicy.Plan, in jobpolicy.Input) error {
	p.requeue(plan)
	failure := p.delete(ctx, plan.Delete)
	if failure == nil {
		failure = p.create(ctx, plan.Create)
	}
	if errors.Is(failure, errOutdated) || errors.Is(failure, errGone) {
		return failure
	}
	if unsure := p.record.unacknowledged.open() > 0; failure != nil || unsure && !in.ExpectationsPending {
		in.NoPodChanges = failure != nil
		in.ExpectationsPending = in.ExpectationsPending || p.record.podsPending()
		in.FinalizersRemoved = p.record.finalizers.uids()
		var err error
		if plan, err = p.engine.Plan(in); err != nil {
			return errors.Join(failure, fmt.Errorf("planning without pod changes: %w", err))
		}
		p.requeue(plan)
	}
	if err := p.writeEnds(ctx, plan); err != nil {
		return errors.Join(failure, err)
	}
	if err := p.releaseEnded(ctx, plan.Release); err != nil {
		return errors.Join(failure, err)
	}
	if plan.FinalStatus != nil {
		if err := p.write(ctx, plan.FinalStatus, plan.State, jobpolicy.MetricDeltas{}); err != nil {
			return errors.Join(failure, err)
		}
	}
	if terminatingNamespace(failure) {
		klog.FromContext(ctx).V(2).Info("not creating pods in a namespace that is being deleted")
		return nil
	}
	return failure
}

func (p *pass) requeue(plan jobpolicy.Plan) {
	if plan.RequeueAfter > 0 {
		p.enqueue(p.key, plan.RequeueAfter)
	}
}

// writeEnds writes the ends of pods to the status and keeps the state. Without an
// InterimStatus it writes the state only if that holds new facts about ends, because
// the status does not name those pods.
func (p *pass) writeEnds(ctx context.Context, plan jobpolicy.Plan) error {
	if plan.InterimStatus != nil || saysMore(plan.State, p.record.checkpoint.state) {
		return p.write(ctx, plan.InterimStatus, plan.State, plan.MetricDeltas)
	}
	p.record.state = plan.State
	p.metrics.written(p.job, plan.MetricDeltas)
	return nil
}

// releaseEnded removes the finalizers of pods whose end is recorded.
func (p *pass) releaseEnded(ctx context.Context, refs []jobpolicy.PodRef) error {
	errs, versions := make([]error, len(refs)), make([]string, len(refs))
	each(len(refs), p.options.Parallel, func(i int) {
		versions[i], errs[i] = p.untrack(ctx, p.job.Namespace, refs[i].Name, types.UID(refs[i].UID))
	})
	for i, ref := range refs {
		if errs[i] == nil {
			p.record.finalizers.expect(types.UID(ref.UID), ref.Name, versions[i])
		}
	}
	return joined("removing finalizers", errs)
}

// wrote takes over the Job as written, with the state and counts of that write.
func (p *pass) wrote(written *batchv1.Job, w statusWrite) {
	p.record.wroteStatus(written, w.state)
	p.look(written)
	p.metrics.written(written, w.counts)
}

// saysMore reports whether m holds facts about ends of pods that than lacks.
func saysMore(m, than jobpolicy.State) bool {
	if m.Failures != than.Failures || !m.LastFailure.Equal(than.LastFailure) || m.Ignored != than.Ignored || !m.LastIgnored.Equal(than.LastIgnored) {
		return true
	}
	for uid := range m.Ahead {
		if _, known := than.Ahead[uid]; !known {
			return true
		}
	}
	known := make(map[string]bool, len(than.Handled))
	for _, uid := range than.Handled {
		known[uid] = true
	}
	return slices.ContainsFunc(m.Handled, func(uid string) bool { return !known[uid] })
}

// joined joins the non-nil errors into one. Of more than three it shows the first three
// and the number.
func joined(what string, errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	const most = 3
	switch {
	case len(errs) == 0:
		return nil
	case len(errs) > most:
		return fmt.Errorf("%s: %d errors, first: %w", what, len(errs), errors.Join(errs[:most]...))
	}
	return fmt.Errorf("%s: %w", what, errors.Join(errs...))
}
