package jobcontroller

import (
	"bytes"
	"context"
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

// unsure holds the requests about a Job without an answer, which may have been carried
// out or may be later. Repeating them has no second effect. A pod is created again
// under the same name if the next plan still wants it, a pod is deleted again by its
// UID before that plan, and a status write is resolved by reading the Job. The zero
// value is empty and ready to use. It is not safe for concurrent use.
type unsure struct {
	creations []lostCreation
	deletions []jobpolicy.Deletion
	since     map[string]time.Time // first time without an answer of each deletion, by the pod's UID
	write     *statusWrite
}

// statusWrite is a write of a Job's status, with the memory and counts that apply once
// it is done.
type statusWrite struct {
	job    *batchv1.Job // as intended
	memory jobpolicy.State
	counts jobpolicy.MetricDeltas
}

// noteUnanswered records that deleting the pod with this UID had no answer.
func (u *unsure) noteUnanswered(uid string, now time.Time) {
	if _, again := u.since[uid]; again {
		return
	}
	if u.since == nil {
		u.since = make(map[string]time.Time)
	}
	u.since[uid] = now
}

// noteAnswered records that deleting the pod with this UID had an answer.
func (u *unsure) noteAnswered(uid string) { delete(u.since, uid) }

// isOver reports whether a repeated deletion that failed with err is over, so that the
// stored pod shows whether it was carried out. A refusal ends it. So do an internal
// error, which a broken webhook may return indefinitely, and too long a time without an
// answer, because the Job has a deadline to meet.
func (u *unsure) isOver(uid string, err error, now time.Time) bool {
	since, again := u.since[uid]
	return again && err != nil && (!unanswered(err) || apierrors.IsInternalError(err) || tooOld(since, now))
}

// open returns the number of creations and deletions without an answer.
func (u *unsure) open() int { return len(u.creations) + len(u.deletions) }

// is reports whether the Job has the status and the memory of w. Others may have
// changed the rest since.
func (w *statusWrite) is(job *batchv1.Job) bool {
	if w.job.Annotations[AnnotationMemory] != job.Annotations[AnnotationMemory] {
		return false
	}
	return sameStatus(&w.job.Status, &job.Status)
}

// sameStatus reports whether two statuses have the same JSON, in which times have whole
// seconds.
func sameStatus(a, b *batchv1.JobStatus) bool {
	return bytes.Equal(encoded(a), encoded(b))
}

// resolve resolves a status write and deletions without an answer. The error joins
// those still without one. A status write must be resolved before the next plan.
func (p *pass) resolve(ctx context.Context) error {
	u := &p.state.unsure
	if u.write != nil {
		if _, err := p.resolveWrite(ctx); err != nil {
			return err
		}
	}
	again := u.deletions
	if len(again) == 0 {
		return nil
	}
	u.deletions = nil
	return p.delete(ctx, again)
}

// resolveWrite reads the Job and reports whether the last write was carried out. If the
// write is still under way, the API server will refuse it after a later one.
func (p *pass) resolveWrite(ctx context.Context) (done bool, err error) {
	w := p.state.unsure.write
	fresh, err := p.freshJob(ctx, w.job)
	if err != nil {
		return false, fmt.Errorf("unanswered write of the status: %w", err)
	}
	p.state.unsure.write = nil
	if !w.is(fresh) {
		p.state.learn(fresh)
		return false, nil
	}
	p.wrote(fresh, *w)
	return true, nil
}

// deletedBefore returns nil if the pod is gone or being deleted, because an earlier
// attempt succeeded. Otherwise it returns the last attempt's error as a refusal.
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

// errUnread says that reading a pod failed, so whether it exists is unknown.
type errUnread struct{ error }

// errRefused wraps the error of a request that was not carried out.
type errRefused struct{ error }

func (e errRefused) Unwrap() error { return e.error }

func controlledBy(pod *corev1.Pod, uid types.UID) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Controller != nil && *r.Controller && r.UID == uid
	})
}
