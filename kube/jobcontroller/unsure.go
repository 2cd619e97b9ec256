package jobcontroller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
)

// unsure are the requests about a Job that had no answer. They may have been carried
// out. Before the next plan each is made again, or looked after, in a way that has no
// effect twice: a pod is created under the same name, a pod with the same UID is
// deleted, the Job is read. The zero value has none. It is not safe for concurrent use.
type unsure struct {
	creations []*corev1.Pod // as they were to be created
	deletions []jobpolicy.Deletion
	since     map[string]time.Time // when a creation or a deletion was first without an answer, by the pod's name or UID
	write     *statusWrite
}

// statusWrite is a write of a Job's status, with what holds once it is done.
type statusWrite struct {
	job    *batchv1.Job // as it was to be
	memory jobpolicy.Memory
	counts jobpolicy.Counts
}

// noteUnanswered notes that the creation or deletion with this id has no answer.
func (u *unsure) noteUnanswered(id string, now time.Time) {
	if _, again := u.since[id]; again {
		return
	}
	if u.since == nil {
		u.since = make(map[string]time.Time)
	}
	u.since[id] = now
}

// noteAnswered forgets since when the creation or deletion with this id had none.
func (u *unsure) noteAnswered(id string) { delete(u.since, id) }

// isOver reports whether a creation or deletion that was made again is over, by its
// error: then what is stored says whether it was carried out. A refusal ends it. So
// does an internal error, which may be a webhook's for as long as that one is broken,
// and a silence that has lasted too long. The Job has a deadline to meet.
func (u *unsure) isOver(id string, err error, now time.Time) bool {
	since, again := u.since[id]
	return again && err != nil && (!unanswered(err) || apierrors.IsInternalError(err) || tooOld(since, now))
}

// open is how many creations and deletions have no answer.
func (u *unsure) open() int { return len(u.creations) + len(u.deletions) }

// is reports whether the Job is what was to be written: others may have changed all but
// its status and its memory since.
func (w *statusWrite) is(job *batchv1.Job) bool {
	if w.job.Annotations[AnnotationMemory] != job.Annotations[AnnotationMemory] {
		return false
	}
	return sameStatus(&w.job.Status, &job.Status)
}

// sameStatus reports whether two statuses are the same as they are sent: there times
// have whole seconds.
func sameStatus(a, b *batchv1.JobStatus) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// resolve finds out what has become of requests without an answer. The error says
// which have none still; a write of the status must have one before the next plan.
func (p *pass) resolve(ctx context.Context) error {
	u := &p.state.unsure
	if u.write != nil {
		if err := p.resolveWrite(ctx); err != nil {
			return err
		}
	}
	var errs []error
	if again := u.deletions; len(again) > 0 {
		u.deletions = nil
		errs = append(errs, p.delete(ctx, again))
	}
	if again := u.creations; len(again) > 0 {
		u.creations = nil
		errs = append(errs, p.createAgain(ctx, again))
	}
	return errors.Join(errs...)
}

// resolveWrite reads the Job to learn whether the last write was carried out. If it is
// still under way, it will be refused once a later one is done.
func (p *pass) resolveWrite(ctx context.Context) error {
	w := p.state.unsure.write
	fresh, err := p.freshJob(ctx, w.job)
	if err != nil {
		return fmt.Errorf("a write of the status had no answer: %w", err)
	}
	p.state.unsure.write = nil
	if w.is(fresh) {
		p.wrote(fresh, *w)
	} else {
		p.state.learn(fresh)
	}
	return nil
}

// createAgain creates pods of which nobody knows whether they are there. Their names
// are theirs, so that no pod is created twice. A refusal does not say that the pod is
// not there: a quota, for one, is asked before the name is looked at.
func (p *pass) createAgain(ctx context.Context, pods []*corev1.Pod) error {
	outcomes := make([]creationOutcome, len(pods))
	each(len(pods), p.options.Parallel, func(i int) {
		o := &outcomes[i]
		o.pod, o.err = p.createPod(ctx, pods[i])
		if p.state.unsure.isOver(pods[i].Name, o.err, p.options.Clock.Now()) {
			o.pod, o.err = p.createdBefore(ctx, pods[i], o.err)
		}
	})
	return p.created(pods, outcomes)
}

// createdBefore returns the pod that has the name of one whose creation was refused: an
// earlier attempt has created it. If there is none, it returns the refusal, or nil if
// that was because of the name: then the pod is gone again, or another has its name,
// and there is nothing to wait for.
func (p *pass) createdBefore(ctx context.Context, pod *corev1.Pod, refusal error) (*corev1.Pod, error) {
	if apierrors.IsAlreadyExists(refusal) {
		refusal = nil
	}
	there, err := p.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && !controlledBy(there, p.state.uid):
		if refusal != nil {
			refusal = errRefused{refusal}
		}
		return nil, refusal
	case err != nil:
		return nil, errUnread{fmt.Errorf("reading pod %s: %w", pod.Name, err)}
	}
	return there, nil
}

// deletedBefore returns nil if a pod whose deletion is over is being deleted, or is
// gone: an earlier attempt has deleted it. Otherwise it returns the error of the last
// one, as a refusal.
func (p *pass) deletedBefore(ctx context.Context, d jobpolicy.Deletion, refusal error) error {
	there, err := p.client.CoreV1().Pods(p.job.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && (string(there.UID) != d.UID || there.DeletionTimestamp != nil && !(d.Untrack && tracked(there))):
		return nil
	case err != nil:
		return errUnread{fmt.Errorf("reading pod %s: %w", d.Name, err)}
	}
	return errRefused{refusal}
}

// errUnread says that a pod could not be read, for whatever reason: whether it is there
// is not known.
type errUnread struct{ error }

// errRefused says that a request was not carried out, whatever the error is that it
// holds.
type errRefused struct{ error }

func (e errRefused) Unwrap() error { return e.error }

func controlledBy(pod *corev1.Pod, uid types.UID) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Controller != nil && *r.Controller && r.UID == uid
	})
}
