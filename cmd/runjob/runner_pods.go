package main

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// pod is a pod of the Job with its podRun.
type pod struct {
	batch.Pod
	index, attempt int
	run            *podRun
	decided        bool // the Engine has decided on its end
}

func (p *pod) ended() bool {
	return p.Status.Phase == batch.PodSucceeded || p.Status.Phase == batch.PodFailed
}

func (p *pod) tracked() bool { return slices.Contains(p.Finalizers, batch.JobTrackingFinalizer) }

// look updates the pods from the cache and returns them.
func (r *runner) look() []*batch.Pod {
	pods := make([]*batch.Pod, 0, len(r.pods))
	for uid, p := range r.pods {
		if seen := r.cache.Get(uid); seen.Present {
			p.Status = *seen.Status
		}
		pods = append(pods, &p.Pod)
	}
	return pods
}

// create creates a pod, which does not run yet.
func (r *runner) create(n jobpolicy.Creation, now time.Time) *pod {
	r.attempts[n.Index]++
	p := &pod{index: n.Index, attempt: r.attempts[n.Index]}
	p.ObjectMeta = n.ObjectMeta
	p.Name = fmt.Sprintf("%s%d", n.GenerateName, p.attempt)
	p.UID = newUID()
	p.CreationTimestamp = now
	r.add(p, nil)
	return p
}

// add adds a pod to the Job. Its status and past come from an earlier run, if any.
func (r *runner) add(p *pod, past history) {
	p.Spec = r.job.Spec.Template.Spec
	p.run = newPodRun(r.host, p.Pod, past)
	p.run.index, p.run.attempt = p.index, p.attempt
	r.pods[p.UID] = p
	r.attempts[p.index] = max(r.attempts[p.index], p.attempt)
	p.run.publish()
}

// delete marks a pod as terminating, with its grace period.
func (r *runner) delete(d jobpolicy.Deletion, now time.Time) *pod {
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

// forget drops the ended pods that the Job no longer needs. It returns in gone those
// whose records are not needed either, and in over the deleted pods whose end led to no
// decision of the Engine.
func (r *runner) forget() (gone, over []*pod) {
	now := time.Now()
	for uid, p := range r.pods {
		if p.ended() && !p.tracked() {
			delete(r.pods, uid)
			r.cache.Delete(uid, now)
			if !p.decided && !p.DeletionTimestamp.IsZero() {
				over = append(over, p)
			}
			if !slices.ContainsFunc(r.suspended, func(s *pod) bool { return s.UID == uid }) {
				gone = append(gone, p)
			}
		}
	}
	r.cache.Writer().UpdateTime(now) // drops the deleted entries
	slices.SortFunc(over, func(a, b *pod) int { return strings.Compare(a.Name, b.Name) })
	return gone, over
}

// newUID returns a random UID in the form of Kubernetes.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
