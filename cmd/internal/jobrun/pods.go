package jobrun

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Pod is a pod of the Job.
type Pod struct {
	batch.Pod
	Index   int // -1 for a NonIndexed Job
	Attempt int // counts the pods of the index, or of the Job, from 1

	run     *podRun
	seen    *snapshot // the last that the Engine was shown
	decided bool      // the Engine has decided on its end
}

// PodID says which pod is meant.
type PodID struct {
	Name, UID      string
	Index, Attempt int // as in Pod
}

// ID returns which pod it is.
func (p *Pod) ID() PodID { return PodID{p.Name, p.UID, p.Index, p.Attempt} }

// Grace returns how long the pod may take to end when it is deleted.
func (p *Pod) Grace() time.Duration { return p.run.grace }

// GraceOver reports whether a deleted pod was killed because its grace period was over.
func (p *Pod) GraceOver() bool { return p.run.graceOver() }

// create creates a pod, which does not run yet.
func (r *Run) create(n jobpolicy.Creation, now time.Time) *Pod {
	p := &Pod{Index: n.Index, Attempt: r.attempts[n.Index] + 1}
	p.ObjectMeta = n.ObjectMeta
	p.Name = fmt.Sprintf("%s%d", n.GenerateName, p.Attempt)
	p.UID = newUID()
	p.CreationTimestamp = now
	r.add(p, nil)
	return p
}

// add adds a pod to the Job, with the state that an earlier run has saved, if any.
func (r *Run) add(p *Pod, saved *savedPod) {
	p.Spec = r.job.Spec.Template.Spec
	p.run = newPodRun(&r.host, p, saved)
	p.seen = p.run.now()
	p.Status = p.seen.status
	r.pods[p.UID] = p
	r.attempts[p.Index] = max(r.attempts[p.Index], p.Attempt)
}

// delete marks a pod as terminating, with its grace period.
func (r *Run) delete(d jobpolicy.Deletion, now time.Time) *Pod {
	p := r.pods[d.UID]
	if d.Untrack {
		if r.job.Spec.Suspend {
			interrupted := *p
			r.suspended = append(r.suspended, &interrupted)
		}
		p.Untrack()
	}
	seconds := int64(p.run.grace / time.Second)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = now.Add(p.run.grace), &seconds
	return p
}

// forget drops the ended pods that the Job no longer needs. It returns the deleted ones
// whose end led to no decision of the Engine.
func (r *Run) forget() (over []*Pod) {
	for uid, p := range r.pods {
		if !p.Finished() || p.Tracked() {
			continue
		}
		delete(r.pods, uid)
		if !p.decided && !p.DeletionTimestamp.IsZero() {
			over = append(over, p)
		}
	}
	slices.SortFunc(over, func(a, b *Pod) int { return strings.Compare(a.Name, b.Name) })
	return over
}

// newUID returns a random UID in the form of Kubernetes.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
