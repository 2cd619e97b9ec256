package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// outcome is the end of a run of a pod.
type outcome struct {
	container string // that ends with code; empty for the first one
	code      int32
	drain     bool          // the pod is evicted, with the condition DisruptionTarget
	run       time.Duration // duration; 0 for usualRun
}

// outcomes holds the outcomes of an index, by attempt.
type outcomes struct {
	list    []outcome
	repeats bool // the last one repeats for ever; otherwise further attempts succeed
}

// of returns the outcome of the n-th attempt, from 0.
func (o outcomes) of(n int) outcome {
	switch {
	case n < len(o.list):
		return o.list[n]
	case o.repeats:
		return o.list[len(o.list)-1]
	}
	return outcome{}
}

// script holds the outcomes of the pods of a simulated Job.
type script struct {
	lines []scriptLine
	rest  outcomes // of other indexes, and of Jobs without indexes
}

type scriptLine struct {
	indexes indexset.Set
	outcomes
}

// of returns the outcomes of an index, or of a Job without indexes for -1.
func (s *script) of(index int) outcomes {
	for i := range s.lines {
		if index >= 0 && s.lines[i].indexes.Contains(index) {
			return s.lines[i].outcomes
		}
	}
	return s.rest
}

const (
	largestScript = 64 << 10
	mostOutcomes  = 1000 // of a line
	mostLines     = 500
	longestRun    = 365 * 24 * time.Hour
)

// parseScript parses lines such as
//
//	3: 1, 1, 0            # the third attempt of index 3 succeeds
//	0-2,7: 42@5m, drain   # after runs of 5m; on a drained node
//	4: monitor=3 ...      # a container; the last outcome is repeated
//	*: 0@30s              # all others
//
// for a Job. It returns all mistakes.
func parseScript(text string, job *batch.Job) (*script, []Remark) {
	if len(text) > largestScript {
		return nil, []Remark{{0, "error", fmt.Sprintf("the script is too long: this page reads at most %d bytes", largestScript)}}
	}
	s := &script{}
	var wrong []Remark
	n, given := 0, false
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		err := s.add(line, job, &given)
		if err != nil && len(wrong) < 20 {
			wrong = append(wrong, Remark{n, "error", clean(err.Error())})
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return s, nil
}

// add parses a line. given reports whether a line for * came before.
func (s *script) add(line string, job *batch.Job, given *bool) error {
	key, list, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q: must be INDEX: OUTCOME, OUTCOME ..., as 3: 1,1,0", line)
	}
	o, err := parseOutcomes(list, job)
	if err != nil {
		return err
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "*" && *given:
		return fmt.Errorf("more than one line begins with *")
	case key == "*":
		s.rest, *given = o, true
		return nil
	case job.Spec.CompletionMode != batch.IndexedCompletion:
		return fmt.Errorf("%s: the Job has no indexes; its pods take the outcomes of the line *, in their order", key)
	case len(s.lines) == mostLines:
		return fmt.Errorf("%s: more than %d lines", key, mostLines)
	}
	indexes, err := indexset.Parse(strings.ReplaceAll(key, " ", ""))
	if err != nil || indexes.IsZero() {
		return fmt.Errorf("%s: must be an index, indexes as 0-2,7, or *", key)
	}
	if last, _ := indexes.Max(); last >= int(*job.Spec.Completions) {
		return fmt.Errorf("%s: the highest index of the Job is %d", key, *job.Spec.Completions-1)
	}
	for _, other := range s.lines {
		if indexes.Overlaps(other.indexes) {
			return fmt.Errorf("%s: another line has one of these indexes too", key)
		}
	}
	s.lines = append(s.lines, scriptLine{indexes, o})
	return nil
}

func parseOutcomes(text string, job *batch.Job) (outcomes, error) {
	var o outcomes
	text, o.repeats = strings.CutSuffix(strings.TrimSpace(text), "...")
	for word := range strings.SplitSeq(text, ",") {
		if len(o.list) == mostOutcomes {
			return o, fmt.Errorf("more than %d outcomes in a line", mostOutcomes)
		}
		one, err := parseOutcome(strings.TrimSpace(word), job)
		if err != nil {
			return o, err
		}
		o.list = append(o.list, one)
	}
	return o, nil
}

// parseOutcome parses [CONTAINER=]CODE[@DURATION] or drain[@DURATION].
func parseOutcome(word string, job *batch.Job) (o outcome, err error) {
	how, run, timed := strings.Cut(word, "@")
	if timed {
		o.run, err = time.ParseDuration(strings.TrimSpace(run))
		if err != nil || o.run <= 0 || o.run > longestRun {
			return o, fmt.Errorf("%q: %q must be a duration as 30s, above 0 and at most %v", word, run, longestRun)
		}
	}
	if how = strings.TrimSpace(how); how == "drain" {
		o.drain, o.code = true, 143
		return o, nil
	}
	if container, code, named := strings.Cut(how, "="); named {
		o.container, how = strings.TrimSpace(container), strings.TrimSpace(code)
		if !hasContainer(&job.Spec.Template.Spec, o.container) {
			return o, fmt.Errorf("%q: the Job has no container %s", word, o.container)
		}
		if job.Spec.Template.Spec.Sidecars()[o.container] {
			return o, fmt.Errorf("%q: %s is a sidecar, which restarts and does not end its pod", word, o.container)
		}
	}
	code, err := strconv.Atoi(how)
	if err != nil || code < 0 || code > 255 {
		return o, fmt.Errorf("%q: must be an exit code in 0..255, CONTAINER=CODE or drain", word)
	}
	o.code = int32(code)
	return o, nil
}

func hasContainer(pod *batch.PodSpec, name string) bool {
	is := func(c batch.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Containers, is) || slices.ContainsFunc(pod.InitContainers, is)
}

// suggestedScript returns a script that shows the effect of the Job's rules.
func suggestedScript(job *batch.Job) string {
	codes := []string{"1"}
	for _, e := range listed(job) {
		if len(codes) < 4 && e.code >= 0 && e.code <= 255 {
			code := strconv.Itoa(int(e.code))
			if e.container != job.Spec.Template.Spec.Containers[0].Name {
				code = e.container + "=" + code
			}
			codes = append(codes, code)
		}
	}
	if job.Spec.PodFailurePolicy != nil {
		codes = append(codes, "drain")
	}
	if job.Spec.CompletionMode != batch.IndexedCompletion {
		return "*: " + strings.Join(codes, ", ") + ", 0\n"
	}
	text := ""
	for i, code := range codes {
		if i+1 < int(*job.Spec.Completions) {
			text += fmt.Sprintf("%d: %s, 0\n", i+1, code)
		}
	}
	if text == "" {
		text = "0: " + codes[0] + ", 0\n"
	}
	return text
}
