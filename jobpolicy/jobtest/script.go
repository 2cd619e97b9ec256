package jobtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Script returns how a pod ends. attempt is the number of pods created before it for
// the same index or the NonIndexed Job.
type Script func(p *batch.Pod, attempt int) End

// End is how a pod ends. The zero value succeeds at once.
type End struct {
	After    time.Duration // since the pod's start
	ExitCode int32         // of every container
	Evict    bool          // evict the pod just before
}

// mostTurns is the number of turns after which Run fails, because a Job may never finish.
// A turn carries out a plan, starts new pods and ends deleted ones. If nothing changed,
// it advances the clock.
const mostTurns = 10_000

// Run runs the Job in virtual time until it has finished or waits for nothing more.
// Pods start on creation, and exit with 143 on deletion, at once. Containers do not
// restart in place. Run fails after 10,000 turns.
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

// scheduled is the future end of a started pod.
type scheduled struct {
	End
	at time.Time
}

// move starts new pods and ends deleted ones. It reports whether it changed any pod.
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

// next returns the time of the next pod's end or plan, whichever comes first.
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

// endDue ends all due pods.
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
