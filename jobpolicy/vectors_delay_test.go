package jobpolicy

import (
	"errors"
	"strconv"
	"time"

	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/internal/vectors/shape"
)

// finishTimeVector checks Pod.FinishTime.
func finishTimeVector(c *vectors.Case) (any, error) {
	var in struct {
		Pod *shape.Pod `json:"pod"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if in.Pod != nil && in.Pod.Deleting && in.Pod.DeletedAt == nil {
		return nil, errors.New("a deletion without a time cannot be told from none")
	}
	pod, err := in.Pod.Batch(time.Time{})
	if err != nil {
		return nil, err
	}
	return pod.FinishTime().UTC().Format(time.RFC3339Nano), nil
}

// vectorRecord is the Job-wide streak of failures.
type vectorRecord struct {
	Failures    int         `json:"failures"`
	LastFailure *shape.Time `json:"last_failure"`
}

// backoffRecordVector: the Job-wide streak after newly finished pods.
func backoffRecordVector(c *vectors.Case) (any, error) {
	var in struct {
		Prior       *vectorRecord `json:"prior"`
		SucceededAt []*shape.Time `json:"succeeded_at"`
		FailedAt    []*shape.Time `json:"failed_at"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	var m State
	if in.Prior != nil {
		m.Failures, m.LastFailure = in.Prior.Failures, in.Prior.LastFailure.At(time.Time{})
	}
	if m.Failures > maxCount-len(in.FailedAt) {
		c.Exclude("a streak that 32 bits do not hold, which saturates")
	}
	m.Failures, m.LastFailure = failuresInARow(m.Failures, m.LastFailure, vectorTimes(in.SucceededAt), vectorTimes(in.FailedAt))
	return map[string]any{"failures": m.Failures, "last_failure": shape.Text(m.LastFailure)}, nil
}

func vectorTimes(vs []*shape.Time) []time.Time {
	var times []time.Time
	for _, v := range vs {
		times = append(times, v.At(time.Time{}))
	}
	return times
}

// vectorDelay is the common part of all kinds of waits.
type vectorDelay struct {
	Now    *shape.Time `json:"now"`
	BaseMS int64       `json:"base_ms"`
	MaxMS  int64       `json:"max_ms"`
}

func (v vectorDelay) base() time.Duration { return time.Duration(v.BaseMS) * time.Millisecond }
func (v vectorDelay) max() time.Duration  { return time.Duration(v.MaxMS) * time.Millisecond }
func (v vectorDelay) now() time.Time      { return v.Now.At(time.Time{}) }

// exact reports whether an Engine can have these delays, where 0 means the default.
func (v vectorDelay) exact() bool { return v.BaseMS != 0 && v.MaxMS != 0 }

const (
	futureFailure    = "a failure in the future counts as one that happens now"
	negativeFailures = "a negative number of failures counts as none"
	noSuchEngine     = "delays of 0, which an Engine takes for its defaults"
)

// delay is the model of the delay after a number of failures.
func (v vectorDelay) delay(failures int) time.Duration {
	d := v.base()
	for n := 1; n < failures && d > 0; n++ {
		if d = 2 * d; d >= v.max() {
			return v.max()
		}
	}
	return d
}

// waits is the wait of an index after its failed pod, computed in three ways. An index
// without a failed pod does not wait.
type waits struct {
	got        time.Duration // by the code under test
	ours       time.Duration // what it has to be: a failure in the future happens now
	kubernetes time.Duration // what it is there: the wait is longer by the time until the failure
}

func (v vectorDelay) waits(pod *shape.Pod) (w waits, err error) {
	p, err := pod.Batch(v.now())
	if p == nil || err != nil {
		return w, err
	}
	e := Engine{BaseDelay: v.base(), MaxDelay: v.max()}
	w.got = e.indexWait(failuresOf(p), ignoredOf(p), Match{Rule: -1}, p.FinishTime(), v.now())
	w.ours, w.kubernetes = w.got, w.got
	if ahead := p.FinishTime().Sub(v.now()); ahead > 0 {
		failures := 1
		for _, text := range []*string{pod.IndexFailures, pod.IndexIgnoredFailures} {
			if n, err := strconv.ParseInt(shape.Value(text), 10, 32); err == nil && n > 0 {
				failures += int(n)
			}
		}
		w.ours = v.delay(failures)
		w.kubernetes = w.ours + ahead
	} else if failuresOf(p) > maxCount-1-ignoredOf(p) { // its 32 bits wrap around to a negative count
		w.ours = max(v.delay(maxCount)+ahead, 0)
		w.kubernetes = max(v.base()+ahead, 0)
	}
	return w, nil
}

// remainingVector: the wait for the whole Job.
func remainingVector(c *vectors.Case) (any, error) {
	var in struct {
		vectorDelay
		vectorRecord
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	last := in.LastFailure.At(time.Time{})
	switch {
	case in.Failures < 0 && in.now().Sub(last) < in.base():
		c.Deviate(negativeFailures, wantMS(0))
	case in.Failures > 0 && last.After(in.now()):
		c.Deviate(futureFailure, wantMS(in.delay(in.Failures)))
	}
	return wantMS(remaining(in.base(), in.max(), in.Failures, in.now().Sub(last))), nil
}

// remainingPerIndexVector: the wait of one index, by its last failed pod.
func remainingPerIndexVector(c *vectors.Case) (any, error) {
	var in struct {
		vectorDelay
		Pod *shape.Pod `json:"pod"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if !in.exact() {
		c.Exclude(noSuchEngine)
	}
	w, err := in.waits(in.Pod)
	if w.ours != w.kubernetes {
		c.Deviate(futureFailure, wantMS(w.ours))
	}
	return wantMS(w.got), err
}

// readyIndexesVector: which indexes need not wait, and how long the others must.
func readyIndexesVector(c *vectors.Case) (any, error) {
	var in struct {
		vectorDelay
		Indexes    []int              `json:"indexes"`
		LastFailed map[int]*shape.Pod `json:"last_failed"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if !in.exact() {
		c.Exclude(noSuchEngine)
	}
	got, ours, kubernetes := map[int]time.Duration{}, map[int]time.Duration{}, map[int]time.Duration{}
	for i, pod := range in.LastFailed {
		w, err := in.waits(pod)
		if err != nil {
			return nil, err
		}
		got[i], ours[i], kubernetes[i] = w.got, w.ours, w.kubernetes
	}
	if want := shortestWait(in.Indexes, ours); vectors.Text(want) != vectors.Text(shortestWait(in.Indexes, kubernetes)) {
		c.Deviate(futureFailure, want)
	}
	ready, wait := readyIndexes(in.Indexes, func(i int) time.Duration { return got[i] })
	return readyAndWait(ready, wait), nil
}

// shortestWait returns the ready indexes, and the shortest wait if none is ready.
func shortestWait(indexes []int, waits map[int]time.Duration) any {
	var ready []int
	var shortest time.Duration
	for n, i := range indexes {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
		if n == 0 || waits[i] < shortest {
			shortest = waits[i]
		}
	}
	return readyAndWait(ready, shortest)
}

func readyAndWait(ready []int, wait time.Duration) any {
	if ready == nil {
		ready = []int{}
	}
	return map[string]any{"ready": ready, "wait_ms": wait.Milliseconds()}
}

func wantMS(d time.Duration) any { return map[string]any{"want_ms": d.Milliseconds()} }
