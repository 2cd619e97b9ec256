package jobpolicy

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// comesTo is the most that some run of a Job comes to.
type comesTo struct {
	Runs       int // pods created
	Wait       string
	IndexBytes int // of completedIndexes and failedIndexes together
}

// Every run of small Jobs: each pod fails or succeeds, alone or with another one,
// before or after what is waited for. The longest comes to what the file says,
// which is what package lint says in advance.
func TestEveryRunStaysWithinItsWorstCase(t *testing.T) {
	data, err := os.ReadFile("lint/testdata/worstcase.json")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []struct {
		Spec JobSpec
		comesTo
	}
	if err := json.Unmarshal(data, &jobs); err != nil || len(jobs) == 0 {
		t.Fatal(len(jobs), err)
	}
	runs := 0
	for _, job := range jobs {
		t.Run(jsonText(job.Spec), func(t *testing.T) {
			job.Spec.Template.Spec = PodSpec{RestartPolicy: RestartPolicyNever, Containers: []Container{{Name: "a"}}}
			x := &explorer{seen: map[string]bool{}}
			c := &cluster{job: &Job{ObjectMeta: ObjectMeta{Name: "job", UID: "job"}, Spec: job.Spec}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			x.explore(t, c, c.now)
			if got := (comesTo{x.runs, x.wait.String(), x.indexBytes}); got != job.comesTo {
				t.Errorf("some run of %d comes to %+v, the worst case is %+v", x.ended, got, job.comesTo)
			}
			runs += x.ended
		})
	}
	t.Logf("%d runs", runs)
}

// explorer follows a Job into everything that can happen to it.
type explorer struct {
	seen  map[string]bool
	ended int // runs that came to an end

	// The most of any run.
	runs, indexBytes int
	wait             time.Duration
}

func (x *explorer) explore(t *testing.T, c *cluster, start time.Time) {
	c.settle(t)
	x.runs = max(x.runs, len(c.created))
	x.wait = max(x.wait, c.now.Sub(start)) // pods take no time, so all of it went in waiting
	x.indexBytes = max(x.indexBytes, len(c.job.Status.CompletedIndexes)+len(vectorValue(c.job.Status.FailedIndexes)))
	state := c.state()
	if x.seen[state] {
		return
	}
	x.seen[state] = true
	if _, finished := c.job.Status.Finished(); finished {
		x.ended++
		return
	}
	var active []string
	for _, p := range c.pods {
		if !p.finished() {
			active = append(active, p.UID)
		}
	}
	for i, uid := range active {
		x.then(t, c, start, func(c *cluster) { c.end(uid, PodFailed, 1) })
		x.then(t, c, start, func(c *cluster) { c.end(uid, PodSucceeded, 0) })
		for _, other := range active[i+1:] {
			x.then(t, c, start, func(c *cluster) { c.end(uid, PodFailed, 1); c.end(other, PodFailed, 1) })
		}
	}
	if c.requeue > 0 {
		x.then(t, c, start, func(c *cluster) { c.now = c.now.Add(c.requeue) })
	}
}

func (x *explorer) then(t *testing.T, c *cluster, start time.Time, happens func(*cluster)) {
	next := *c
	job := *c.job
	next.job, next.pods, next.created = &job, append([]*Pod(nil), c.pods...), append([]*Pod(nil), c.created...)
	happens(&next)
	x.explore(t, &next, start)
}

// settle plans until there is nothing to do. Pods that are deleted end at once.
func (c *cluster) settle(t *testing.T) {
	for {
		plan, err := c.plan()
		if err != nil {
			t.Fatal(err)
		}
		n := effects(plan)
		if n == 0 {
			return
		}
		c.carryOut(plan, n)
		for _, p := range append([]*Pod(nil), c.pods...) {
			if !p.DeletionTimestamp.IsZero() && !p.finished() {
				c.end(p.UID, PodFailed, 137)
			}
		}
	}
}

// state is everything that matters for what can happen next, as text.
func (c *cluster) state() string {
	var b strings.Builder
	fmt.Fprint(&b, c.now, len(c.created), c.requeue, jsonText(c.memory), jsonText(c.job.Status))
	for _, p := range c.pods {
		fmt.Fprint(&b, p.Annotations, p.Finalizers, jsonText(p.Status))
	}
	return b.String()
}
