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

// unacknowledged holds the requests about a Job without an answer, which may have been carried
// out or may be later. Repeating them has no second effect. A pod is created again
// under the same name if the next plan still wants it, a pod is deleted again by its
// UID before that plan, and a status write is resolved by reading the Job. The zero
// value is empty and ready to use. It is not safe for concurrent use.
type unacknowledged struct {
	creations []unansweredCreation
	deletions []jobpolicy.Deletion
	since     map[string]time.Time // first time without an answer of each deletion, by the pod's UID
	write     *statusWrite
}

// statusWrite is a write of a Job's status, with the state and counts that apply once
// it is done.
type statusWrite struct {
	job    *batchv1.Job // as intended
	state  jobpolicy.State
	counts jobpolicy.MetricDeltas
}

// deletionUnanswered records that deleting the pod with this UID had no answer.
func (u *unacknowledged) deletionUnanswered(uid string, now time.Time) {
	if _, again := u.since[uid]; again {
		return
	}
	if u.since == nil {
		u.since = make(map[string]time.Time)
	}
	u.since[uid] = now
}

// deletionAnswered records that deleting the pod with this UID had an answer.
func (u *unacknowledged) deletionAnswered(uid string) { delete(u.since, uid) }

// isOver reports whether a repeated deletion that failed with err is over, so that the
// stored pod shows whether it was carried out. A refusal ends it. So do an internal
// error, which a broken webhook may return indefinitely, and too long a time without an
// answer, because the Job has a deadline to meet.
func (u *unacknowledged) isOver(uid string, err error, now time.Time) bool {
	since, again := u.since[uid]
	return again && err != nil && (!unanswered(err) || apierrors.IsInternalError(err) || tooOld(since, now))
}

// open returns the number of creations and deletions without an answer.
func (u *unacknowledged) open() int { return len(u.creations) + len(u.deletions) }

// is reports whether the Job has the status and the state of w. Others may have
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

// unansweredCreation is a creation without an answer. Its pod may exist, may still appear, or
// may never do so. The next creation of the same kind reuses its name, because only one
// of two requests with the same name can create a pod. If no plan wants the pod, as in
// a suspended Job, the Job stays unsettled until the pod appears or is given up. One
// case is not covered. A request may be carried out so late that its name has been used
// by a pod since deleted.
type unansweredCreation struct {
	name         string
	generateName string    // of the Job or, with indexes, of the index
	at           time.Time // of the last attempt
}

// creationUnanswered records a creation without an answer.
func (u *unacknowledged) creationUnanswered(pod *corev1.Pod, now time.Time) {
	u.creationAnswered(pod.Name)
	u.creations = append(u.creations, unansweredCreation{pod.Name, pod.GenerateName, now})
}

// creationAnswered forgets a creation with a known outcome.
func (u *unacknowledged) creationAnswered(name string) {
	u.creations = slices.DeleteFunc(u.creations, func(c unansweredCreation) bool { return c.name == name })
}

// settle forgets creations whose pods the informer shows, and those too old. It returns
// the number too old. Call it before reading the pods to plan on.
func (u *unacknowledged) settle(job types.UID, shown func(name string) *corev1.Pod, now time.Time) (givenUp int) {
	u.creations = slices.DeleteFunc(u.creations, func(c unansweredCreation) bool {
		if pod := shown(c.name); pod != nil && controlledBy(pod, job) {
			return true
		}
		if !tooOld(c.at, now) {
			return false
		}
		givenUp++
		return true
	})
	return givenUp
}

// named is a pod to create. name is that of a creation without an answer, or "" for a
// new one.
type named struct {
	jobpolicy.Creation
	name string
}

// nameAll assigns the names of creations without an answer to wanted pods and returns
// those first. If the plan does not want all of these, more pods than it knows may
// exist, so nameAll returns only pods with such a name.
func (u *unacknowledged) nameAll(wanted []jobpolicy.Creation) []named {
	left := make(map[string][]string, len(u.creations))
	for _, c := range u.creations {
		left[c.generateName] = append(left[c.generateName], c.name)
	}
	var again, others []named
	for _, n := range wanted {
		if names := left[n.GenerateName]; len(names) > 0 {
			again, left[n.GenerateName] = append(again, named{n, names[0]}), names[1:]
		} else {
			others = append(others, named{n, ""})
		}
	}
	if len(again) < len(u.creations) {
		return again
	}
	return append(again, others...)
}

// resolve resolves a status write and deletions without an answer. The error joins
// those still without one. A status write must be resolved before the next plan.
func (p *pass) resolve(ctx context.Context) error {
	u := &p.record.unacknowledged
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
	w := p.record.unacknowledged.write
	fresh, err := p.freshJob(ctx, w.job)
	if err != nil {
		return false, fmt.Errorf("unanswered write of the status: %w", err)
	}
	p.record.unacknowledged.write = nil
	if !w.is(fresh) {
		p.record.wroteAt(fresh)
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
