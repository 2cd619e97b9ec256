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
	"github.com/restartkit/restart/kube/convert"
)

// delete deletes pods. Those that the Job does not want any more lose their finalizer
// first.
func (p *pass) delete(ctx context.Context, deletions []jobpolicy.Deletion) error {
	type outcome struct {
		version   string // without the finalizer
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
		if p.state.unsure.isOver(d.UID, o.err, p.options.Clock.Now()) {
			o.err = p.deletedBefore(ctx, d, o.err)
		}
	})
	now := p.options.Clock.Now()
	errs := make([]error, len(deletions))
	for i, d := range deletions {
		o := outcomes[i]
		if o.untracked {
			p.state.hidden.hide(types.UID(d.UID), d.Name, o.version)
		}
		if !unanswered(o.err) {
			p.state.unsure.noteAnswered(d.UID)
		}
		switch {
		case o.err == nil:
			p.state.expected.expectDeletion(types.UID(d.UID), now)
			if o.deleted {
				p.events.Eventf(p.job, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", d.Name)
			}
			continue
		case unanswered(o.err):
			p.state.unsure.deletions = append(p.state.unsure.deletions, d)
			p.state.unsure.noteUnanswered(d.UID, now)
		}
		p.events.Eventf(p.job, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", o.err)
		errs[i] = fmt.Errorf("pod %s: %w", d.Name, o.err)
	}
	return joined("deleting", errs)
}

// creationOutcome is what a creation came to: the pod, nil and no error if there is
// none to wait for, or an error.
type creationOutcome struct {
	pod *corev1.Pod
	err error
}

// create creates pods, in batches of 1, 2, 4 and so on. After a batch in which one
// failed, the others are left to a later pass: they would likely fail, too.
func (p *pass) create(ctx context.Context, plan jobpolicy.Plan) error {
	why := p.creationReason()
	for left, size := plan.Create, 1; len(left) > 0; size *= 2 {
		batch := left[:min(size, len(left))]
		left = left[len(batch):]
		pods, outcomes := make([]*corev1.Pod, len(batch)), make([]creationOutcome, len(batch))
		each(len(batch), p.options.Parallel, func(i int) {
			pods[i], outcomes[i] = p.createNew(ctx, batch[i])
		})
		err := p.created(pods, outcomes)
		failures := 0
		for _, o := range outcomes {
			if o.err != nil {
				failures++
			}
		}
		add(p.metrics.PodsCreated, len(batch)-failures, why, succeeded)
		add(p.metrics.PodsCreated, failures, why, failed)
		if err != nil {
			return err
		}
	}
	return nil
}

// createNew creates a pod under a name of its own, another one if that is taken.
func (p *pass) createNew(ctx context.Context, n jobpolicy.NewPod) (pod *corev1.Pod, o creationOutcome) {
	const attempts = 8 // the API server makes as many for a generateName
	pod = convert.NewPod(p.job, n)
	for range attempts {
		pod.Name = podName(pod.GenerateName)
		if o.pod, o.err = p.createPod(ctx, pod); !apierrors.IsAlreadyExists(o.err) {
			break
		}
	}
	return pod, o
}

func (p *pass) createPod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// created notes what creations came to. The error holds those that failed.
func (p *pass) created(pods []*corev1.Pod, outcomes []creationOutcome) error {
	now := p.options.Clock.Now()
	errs := make([]error, len(pods))
	for i, o := range outcomes {
		if !unanswered(o.err) {
			p.state.unsure.noteAnswered(pods[i].Name)
		}
		switch {
		case o.err == nil && o.pod == nil:
			continue
		case o.err == nil:
			p.state.expected.expectCreation(o.pod, now)
			p.events.Eventf(p.job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", o.pod.Name)
			continue
		case unanswered(o.err):
			p.state.unsure.creations = append(p.state.unsure.creations, pods[i])
			p.state.unsure.noteUnanswered(pods[i].Name, now)
		}
		if errs[i] = o.err; !terminatingNamespace(o.err) {
			p.events.Eventf(p.job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", o.err)
		}
	}
	return joined("creating pods", errs)
}

// creationReason says why pods are created, in the words of the metrics.
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
	case failures && policy != nil && string(*policy) == string(jobpolicy.PodReplacementFailed):
		return "recreate_failed"
	case failures || terminating:
		return "recreate_terminating_or_failed"
	}
	return "new"
}

// podName returns a name for a pod, as the API server makes one of a generateName. Made
// here, it is known although the answer to the creation may be lost.
func podName(generateName string) string {
	const (
		letters = "bcdfghjklmnpqrstvwxz2456789" // no vowels, so that they form no words
		suffix  = 5
		longest = 63 // of a name that is a DNS label
	)
	name := []byte(generateName[:min(len(generateName), longest-suffix)])
	for range suffix {
		name = append(name, letters[rand.IntN(len(letters))])
	}
	return string(name)
}
