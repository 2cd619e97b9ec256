package explain

import (
	"fmt"
	"math"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// limits returns how far each limit of an unfinished Job is.
func (j *jobView) limits() (all []Limit) {
	s := &j.spec
	add := func(l Limit) { all = append(all, l) }
	if s.Completions != nil {
		done := int64(j.job.Status.Succeeded)
		l := Limit{Name: "completions", Max: int64(*s.Completions), Used: done, Left: max(int64(*s.Completions)-done, 0)}
		l.Text = fmt.Sprintf("%d succeeded, %s the Job", done, more(l.Left, "completes", "complete"))
		add(l)
	}
	if s.BackoffLimit != nil && *s.BackoffLimit != math.MaxInt32 {
		add(j.backoffLimit())
	}
	if s.BackoffLimitPerIndex != nil {
		add(j.limitPerIndex())
	}
	if s.MaxFailedIndexes != nil {
		failed := int64(j.failedIndexes())
		l := Limit{Name: "maxFailedIndexes", Max: int64(*s.MaxFailedIndexes), Used: failed}
		l.Left = max(l.Max+1-failed, 0)
		l.Text = fmt.Sprintf("%s failed, %s the Job", counted(failed, "index"), more(l.Left, "fails", "fail"))
		add(l)
	}
	if seconds := s.ActiveDeadlineSeconds; seconds != nil {
		l := Limit{Name: "activeDeadlineSeconds", Max: *seconds, Left: *seconds, Text: "the Job has not started"}
		if start := j.job.Status.StartTime; !start.IsZero() && !s.Suspend {
			l.timed(start, j.Now, "the Job fails")
		} else if s.Suspend {
			l.Text = "the time starts over when the Job is resumed"
		}
		add(l)
	}
	if s.SuccessPolicy != nil {
		for i, r := range s.SuccessPolicy.Rules {
			add(j.successRule(i, r))
		}
	}
	return all
}

func (j *jobView) backoffLimit() Limit {
	failed := int64(j.failed())
	l := Limit{Name: "backoffLimit", Max: int64(*j.spec.BackoffLimit), Used: failed}
	l.Left = max(l.Max+1-failed, 0)
	l.Text = fmt.Sprintf("%s counted, %s the Job", counted(failed, "failure"), more(l.Left, "fails", "fail"))
	if !j.restartsInPlace() || j.hidden {
		return l
	}
	restarts := j.restarts()
	left := max(max(l.Max, 1)-restarts, 0) // a limit of 0 is reached by the first restart
	l.Left = min(l.Left, left)
	l.Text += fmt.Sprintf("; %s in place, %s it, too", counted(restarts, "restart"), more(left, "fails", "fail"))
	return l
}

// restarts returns how often the containers of the Job's unfinished pods were restarted.
func (j *jobView) restarts() (n int64) {
	for _, p := range j.pods {
		if p.Finished() {
			continue
		}
		for _, statuses := range [][]batch.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for i := range statuses {
				n += int64(max(statuses[i].RestartCount, 0))
			}
		}
	}
	return n
}

// more returns how many more have an effect, such as "2 more fail".
func more(n int64, one, many string) string {
	switch n {
	case 0:
		return "which " + one
	case 1:
		return "1 more " + one
	}
	return fmt.Sprintf("%d more %s", n, many)
}

func (j *jobView) limitPerIndex() Limit {
	l := Limit{Name: "backoffLimitPerIndex", Max: int64(*j.spec.BackoffLimitPerIndex)}
	if !j.planned && !j.raw {
		l.Left = l.Max + 1
		l.Text = "the failures of each open index are not known"
		if j.hidden {
			l.Text = "the failures of each open index are kept by its latest pod, and the pods are " + j.Partial
		}
		return l
	}
	worst := -1
	for _, x := range j.indexes() {
		if int64(x.Failures) > l.Used {
			l.Used, worst = int64(x.Failures), x.Index
		}
	}
	l.Left = max(l.Max+1-l.Used, 0)
	if worst < 0 {
		l.Text = fmt.Sprintf("no open index has failed; %s it", more(l.Left, "fails", "fail"))
		return l
	}
	l.Text = fmt.Sprintf("index %d failed %s, %s it", worst, times(l.Used), more(l.Left, "fails", "fail"))
	return l
}

func times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// failedIndexes returns the number of failed indexes, including those that the status
// does not have yet.
func (j *jobView) failedIndexes() int {
	failed, _ := j.job.Status.FailedIndexSet()
	for i := range j.plan.Decisions {
		if d := &j.plan.Decisions[i]; d.IndexFailed {
			failed = failed.With(d.Index)
		}
	}
	return failed.Len()
}

func (j *jobView) successRule(i int, r batch.SuccessPolicyRule) Limit {
	l := Limit{Name: fmt.Sprintf("successPolicy.rules[%d]", i)}
	done, _ := j.job.Status.CompletedIndexSet()
	wanted := ""
	if r.SucceededIndexes != nil {
		wanted = " of " + line(*r.SucceededIndexes)
		l.Used, l.Max = j.within(*r.SucceededIndexes)
	} else {
		l.Used = int64(done.Len())
	}
	if r.SucceededCount != nil {
		l.Max = int64(*r.SucceededCount)
	}
	l.Left = max(l.Max-l.Used, 0)
	l.Text = fmt.Sprintf("%d indexes%s succeeded, %s the Job", l.Used, wanted, more(l.Left, "completes", "complete"))
	return l
}

// within returns how many of the listed indexes have succeeded, and how many there are.
func (j *jobView) within(text string) (done, all int64) {
	listed, _ := (&batch.JobStatus{CompletedIndexes: text}).CompletedIndexSet()
	completed, _ := j.job.Status.CompletedIndexSet()
	return int64(listed.IntersectLen(completed)), int64(listed.Len())
}
