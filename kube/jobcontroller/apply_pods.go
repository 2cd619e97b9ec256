package jobcontroller

import (
	"context"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// delete deletes pods. It first removes the finalizer of pods that the Job no longer
// wants.
func (p *pass) delete(ctx context.Context, deletions []jobpolicy.Deletion) error {
	type outcome struct {
		version   string // after the finalizer was removed
		untracked bool
		deleted   bool
		err       error
	}
	outcomes := make([]outcome, len(deletions))
	each(len(deletions), p.options.Parallel, func(i int) {
		d, o := deletions[i], &outcomes[i]
		if d.Untrack {
			o.version, o.err = p.untrack(ctx, p.job.Namespace, d.Name, types.UID(d.UID))
			o.untracked = o.err == nil
		}
		if o.err == nil {
			o.deleted, o.err = p.deletePod(ctx, p.job.Namespace, d.Name, types.UID(d.UID))
		}
		if p.record.unacknowledged.isOver(d.UID, o.err, p.options.Clock.Now()) {
			o.err = p.deletedBefore(ctx, d, o.err)
		}
	})
	now := p.options.Clock.Now()
	errs := make([]error, len(deletions))
	for i, d := range deletions {
		o := outcomes[i]
		if o.untracked {
			p.record.finalizers.expect(types.UID(d.UID), d.Name, o.version)
		}
		if !unanswered(o.err) {
			p.record.unacknowledged.deletionAnswered(d.UID)
		}
		switch {
		case o.err == nil:
			p.record.expectations.expectDeletion(types.UID(d.UID), now)
			if o.deleted {
				p.events.Eventf(p.job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", d.Name)
			}
			continue
		case unanswered(o.err):
			p.record.unacknowledged.deletions = append(p.record.unacknowledged.deletions, d)
			p.record.unacknowledged.deletionUnanswered(d.UID, now)
		}
		p.events.Eventf(p.job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", o.err)
		errs[i] = fmt.Errorf("pod %s: %w", d.Name, o.err)
	}
	return joined("deleting", errs)
}

// creationOutcome is the result of a creation, a pod or an error.
type creationOutcome struct {
	was    string      // name of an earlier creation without an answer; it may be taken
	wanted *corev1.Pod // with the name of the last attempt
	pod    *corev1.Pod
	err    error
}

// create creates pods in batches of 1, 2, 4 and so on. After a batch with a failure it
// stops and leaves the rest to a later pass, because they would likely fail as well.
// Once the informer shows that the Job has changed, create stops with an error that
// wraps errOutdated. It creates fewer pods if earlier creations without an answer may
// still bring unwanted ones.
func (p *pass) create(ctx context.Context, wanted []jobpolicy.Creation) error {
	left := p.record.unacknowledged.nameAll(wanted)
	if len(left) == 0 {
		return nil
	}
	template, err := p.template(ctx)
	if err != nil {
		return err
	}
	why := p.creationReason()
	for size := 1; len(left) > 0; size *= 2 {
		if p.changed() {
			return fmt.Errorf("creating pods: %w", errOutdated)
		}
		jobs := left[:min(size, len(left))]
		left = left[len(jobs):]
		outcomes := make([]creationOutcome, len(jobs))
		each(len(jobs), p.options.Parallel, func(i int) { outcomes[i] = p.createOne(ctx, template, jobs[i]) })
		err := p.created(outcomes)
		failures := 0
		for _, o := range outcomes {
			if o.err != nil {
				failures++
			}
		}
		p.metrics.podsCreated.add(len(jobs)-failures, why, succeeded)
		p.metrics.podsCreated.add(failures, why, failed)
		if err != nil {
			return err
		}
	}
	return nil
}

// changed reports whether the informer shows that the Job has been changed by a user,
// deleted or replaced since the pass began. Requests may be slow.
func (p *pass) changed() bool {
	job := p.jobs.get(p.key)
	return job == nil || job.UID != p.job.UID || job.Generation > p.job.Generation
}

// createOne creates a pod under n's name or, without one, a new name. If that name is
// taken, createOne tries others.
func (p *pass) createOne(ctx context.Context, t podTemplate, n named) (o creationOutcome) {
	const attempts = 8 // as many as the API server makes for a generateName
	o.was, o.wanted = n.name, convert.NewPod(&p.job.Spec.Template.Spec, n.Creation, metav1.NewControllerRef(p.job, jobKind))
	name := n.name
	for range attempts {
		again := name != ""
		if !again {
			name = podName(o.wanted.GenerateName)
		}
		o.wanted.Name, name = name, ""
		o.pod, o.err = p.post(ctx, t, o.wanted)
		taken := apierrors.IsAlreadyExists(o.err)
		if !taken && !(again && refuses(o.err)) {
			return o
		}
		// An earlier attempt may have created it, since quotas, for one, are checked before
		// names.
		there, err := p.client.CoreV1().Pods(o.wanted.Namespace).Get(ctx, o.wanted.Name, metav1.GetOptions{})
		switch {
		case err == nil && controlledBy(there, p.job.UID):
			o.pod, o.err = there, nil
			return o
		case err != nil && !apierrors.IsNotFound(err):
			o.err = errUnread{fmt.Errorf("reading pod %s: %w", o.wanted.Name, err)}
			return o
		case !taken:
			return o
		}
	}
	return o
}

// created records the outcomes of creations. It returns an error that joins the
// failures.
func (p *pass) created(outcomes []creationOutcome) error {
	now := p.options.Clock.Now()
	errs := make([]error, len(outcomes))
	for i, o := range outcomes {
		if o.err == nil || o.was != o.wanted.Name {
			p.record.unacknowledged.creationAnswered(o.was)
		}
		if o.err == nil {
			p.record.expectations.expectCreation(o.pod, now)
			p.events.Eventf(p.job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", o.pod.Name)
			continue
		}
		if !refuses(o.err) {
			p.record.unacknowledged.creationUnanswered(o.wanted, now)
		}
		if errs[i] = o.err; !terminatingNamespace(o.err) {
			p.events.Eventf(p.job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", o.err)
		}
	}
	return joined("creating pods", errs)
}

// creationReason returns the metrics' reason for creating pods.
func (p *pass) creationReason() string {
	s := &p.job.Status
	failures := s.Failed > 0 || s.UncountedTerminatedPods != nil && len(s.UncountedTerminatedPods.Failed) > 0
	terminating := false
	for _, pod := range p.pods.of(p.job.UID) {
		failures = failures || pod.Status.Phase == corev1.PodFailed
		terminating = terminating || !ended(pod) && pod.DeletionTimestamp != nil
	}
	policy := p.job.Spec.PodReplacementPolicy
	switch {
	case failures && policy != nil && string(*policy) == string(batch.PodReplacementFailed):
		return "recreate_failed"
	case failures || terminating:
		return "recreate_terminating_or_failed"
	}
	return "new"
}

// podName returns a name for a pod like those the API server makes from a generateName.
// A name made here is known even if the answer to the creation is lost.
func podName(generateName string) string {
	const (
		letters = "bcdfghjklmnpqrstvwxz2456789" // no vowels, so that they form no words
		suffix  = 5
		longest = 63 // length of a DNS label
	)
	name := []byte(generateName[:min(len(generateName), longest-suffix)])
	for range suffix {
		name = append(name, letters[rand.IntN(len(letters))])
	}
	return string(name)
}
