package jobtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Script says how a pod ends. attempt is the number of pods that were created before it
// for the same index, or for a NonIndexed Job.
type Script func(p *batch.Pod, attempt int) End

// End is how a pod ends. The zero value succeeds at once.
type End struct {
	After    time.Duration // since the pod started
	ExitCode int32         // of every container
	Evict    bool          // the pod is evicted just before
}

// mostTurns bounds Run.
const mostTurns = 10_000

// Run runs the Job in virtual time until it has finished or nothing more happens. A pod
// starts as soon as it is created, and one that is deleted exits with 143 at once.
// Containers are not restarted in place. Run returns an error of Plan, and one for a Job
// that goes on for more than 10,000 turns.
func (c *Cluster) Run(script Script) error {
	ends := make(map[string]scheduled)
	for range mostTurns {
		performed, err := c.Sync()
		if err != nil {
			return err
		}
		if moved := c.move(script, ends); moved || performed > 0 {
			continue
		}
		if _, finished := c.Job.Status.Finished(); finished {
			return nil
		}
		next, ok := c.next(ends)
		if !ok {
			return nil
		}
		c.Now = next
		c.endDue(ends)
	}
	return fmt.Errorf("jobtest: Run: the Job still goes on after %d turns, at %s", mostTurns, c.Now.Format(time.RFC3339))
}

// scheduled is an end that a started pod has ahead of it.
type scheduled struct {
	End
	at time.Time
}

// move starts the pods that are new and ends those that are deleted. It reports whether
// there were any.
func (c *Cluster) move(script Script, ends map[string]scheduled) (moved bool) {
	for _, p := range slices.Clone(c.Pods) {
		switch {
		case p.Finished():
			continue
		case !p.DeletionTimestamp.IsZero():
			c.Exit(p.UID, 143)
		case p.Status.Phase == batch.PodPending:
			end := script(p, c.attempts[p.UID])
			ends[p.UID] = scheduled{end, c.Now.Add(end.After)}
			c.Start(p.UID)
		default:
			continue
		}
		moved = true
	}
	return moved
}

// next returns when a pod ends or the last plan wants another, whatever is first.
func (c *Cluster) next(ends map[string]scheduled) (at time.Time, ok bool) {
	if c.RequeueAfter > 0 {
		at, ok = c.Now.Add(c.RequeueAfter), true
	}
	for _, p := range c.Pods {
		if end, there := ends[p.UID]; there && !p.Finished() && (!ok || end.at.Before(at)) {
			at, ok = end.at, true
		}
	}
	return at, ok
}

// endDue ends the pods whose time has come.
func (c *Cluster) endDue(ends map[string]scheduled) {
	for _, p := range slices.Clone(c.Pods) {
		end, there := ends[p.UID]
		if !there || p.Finished() || end.at.After(c.Now) {
			continue
		}
		if end.Evict {
			c.Evict(p.UID)
		}
		c.Exit(p.UID, end.ExitCode)
	}
}
