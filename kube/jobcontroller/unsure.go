package jobcontroller

import (
	"bytes"
	"context"
	"encoding/json"
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
// out, or may be yet. None has an effect twice: a pod is created under the same name
// again if the next plan wants it at all, a pod with the same UID is deleted again
// before that plan, and the Job is read. The zero value has none. It is not safe for
// concurrent use.
type unsure struct {
	creations []lostCreation
	deletions []jobpolicy.Deletion
	since     map[string]time.Time // when a deletion was first without an answer, by the pod's UID
	write     *statusWrite
}

// statusWrite is a write of a Job's status, with what holds once it is done.
type statusWrite struct {
	job    *batchv1.Job // as it was to be
	memory jobpolicy.State
	counts jobpolicy.MetricDeltas
}

// noteUnanswered notes that the deletion of the pod with this UID has no answer.
func (u *unsure) noteUnanswered(uid string, now time.Time) {
	if _, again := u.since[uid]; again {
		return
	}
	if u.since == nil {
		u.since = make(map[string]time.Time)
	}
	u.since[uid] = now
}

// noteAnswered forgets since when the deletion of the pod with this UID had none.
func (u *unsure) noteAnswered(uid string) { delete(u.since, uid) }

// isOver reports whether a deletion that was made again is over, by its error: then
// what is stored says whether it was carried out. A refusal ends it. So does an internal
// error, which may be a webhook's for as long as that one is broken, and a silence that
// has lasted too long. The Job has a deadline to meet.
func (u *unsure) isOver(uid string, err error, now time.Time) bool {
	since, again := u.since[uid]
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

// resolve finds out what has become of a write of the status and of deletions without
// an answer. The error says which have none still; a write of the status must have one
// before the next plan.
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

// resolveWrite reads the Job to learn whether the last write was carried out, and reports
// whether it was. If it is still under way, it will be refused once a later one is done.
func (p *pass) resolveWrite(ctx context.Context) (done bool, err error) {
	w := p.state.unsure.write
	fresh, err := p.freshJob(ctx, w.job)
	if err != nil {
		return false, fmt.Errorf("a write of the status had no answer: %w", err)
	}
	p.state.unsure.write = nil
	if !w.is(fresh) {
		p.state.learn(fresh)
		return false, nil
	}
	p.wrote(fresh, *w)
	return true, nil
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
