package jobworld

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Job is a small Job and the faults that may happen to it. Its text form is a list of
// fields such as "completions=2 perIndex=1 crash=1"; see ParseJob.
type Job struct {
	Indexed      bool
	Parallelism  int // 1 to 3
	Completions  int // 1 to 3
	BackoffLimit int // -1 for none
	PerIndex     int // backoffLimitPerIndex, -1 for none
	MaxFailed    int // maxFailedIndexes, -1 for none
	Rule         batch.Action
	On           On   // end that the rule matches
	Success      int  // succeededCount of a success policy, 0 for none
	ReplaceEnded bool // podReplacementPolicy Failed; a rule implies it
	Starts       bool // pods start running before they end
	// WatchOnly means that the controller sees its own status writes only when the watch
	// shows them.
	WatchOnly bool
	Budget    Budget
}

// On is a kind of end that the rule of a pod failure policy matches.
type On string

// The ends that a rule can match.
const (
	OnCode       On = "code"       // the exit code 9
	OnDisruption On = "disruption" // the condition DisruptionTarget
)

// Budget is how often each fault may happen.
type Budget [faults]uint8

// Fault is a fault or another event of limited number.
type Fault int

// The faults.
const (
	Total       Fault = iota // all others together
	Failure                  // a pod fails with exit code 1
	RuleFailure              // a pod fails with exit code 9
	Eviction
	Deletion   // of a pod, by a user
	Vanishing  // of a pod, with its finalizer
	Suspension // of the Job
	Refusal    // of a request
	LostAnswer
	Crash     // of the controller, which keeps its State
	OldState  // the same, before it has kept the State of its last write
	LostState // the same, without its State
	Takeover  // by a controller that sees the Job and the pods as the watches last showed them
	faults
)

var faultNames = [faults]string{"total", "fail", "fail9", "evict", "delete", "vanish", "suspend", "refuse", "unanswered", "crash", "oldState", "loseState", "takeover"}

// Default is the Job that ParseJob starts from. It has one pod and no faults.
var defaultJob = Job{Parallelism: 1, Completions: 1, BackoffLimit: -1, PerIndex: -1, MaxFailed: -1}

// ParseJob reads the text form of a Job. Absent numbers are 1 for parallelism
// and completions, and otherwise none.
func ParseJob(text string) (Job, error) {
	j := defaultJob
	for f := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(f, "=")
		if err := j.set(key, value); err != nil {
			return Job{}, fmt.Errorf("jobworld: ParseJob(%q): %s: %w", text, f, err)
		}
	}
	if err := j.Validate(); err != nil {
		return Job{}, err
	}
	return j, nil
}

// MustParseJob is like ParseJob but panics on errors.
func MustParseJob(text string) Job {
	j, err := ParseJob(text)
	if err != nil {
		panic(err)
	}
	return j
}

func (j *Job) set(key, value string) error {
	for i, f := range j.numbers() {
		if numberNames[i] == key {
			n, err := strconv.ParseUint(value, 10, 4)
			*f = int(n)
			return err
		}
	}
	for i, f := range j.flags() {
		if flagNames[i] == key && value == "" {
			*f = true
			return nil
		}
	}
	for i, name := range faultNames {
		if name == key {
			n, err := strconv.ParseUint(value, 10, 4)
			j.Budget[i] = uint8(n)
			return err
		}
	}
	switch key {
	case "rule":
		action, on, _ := strings.Cut(value, ":")
		j.Rule, j.On = batch.Action(action), On(on)
		return nil
	}
	return fmt.Errorf("unknown")
}

var (
	numberNames = [...]string{"parallelism", "completions", "backoffLimit", "perIndex", "maxFailed", "success"}
	flagNames   = [...]string{"indexed", "replaceEnded", "starts", "watchOnly"}
)

func (j *Job) numbers() [6]*int {
	return [...]*int{&j.Parallelism, &j.Completions, &j.BackoffLimit, &j.PerIndex, &j.MaxFailed, &j.Success}
}

func (j *Job) flags() [4]*bool {
	return [...]*bool{&j.Indexed, &j.ReplaceEnded, &j.Starts, &j.WatchOnly}
}

// String returns the text form.
func (j Job) String() string {
	var fields []string
	for i, f := range j.flags() {
		if *f {
			fields = append(fields, flagNames[i])
		}
	}
	none := defaultJob.numbers()
	for i, f := range j.numbers() {
		if *f != *none[i] {
			fields = append(fields, fmt.Sprintf("%s=%d", numberNames[i], *f))
		}
	}
	if j.Rule != "" {
		fields = append(fields, fmt.Sprintf("rule=%s:%s", j.Rule, j.On))
	}
	for i, n := range j.Budget {
		if n > 0 {
			fields = append(fields, fmt.Sprintf("%s=%d", faultNames[i], n))
		}
	}
	return strings.Join(fields, " ")
}

// Validate returns an error for a Job that is too large or that an API server would
// reject.
func (j Job) Validate() error {
	wrong := func(why string, args ...any) error {
		return fmt.Errorf("jobworld: Job %q: %s", j.String(), fmt.Sprintf(why, args...))
	}
	switch {
	case j.Parallelism < 1 || j.Parallelism > indexes || j.Completions < 1 || j.Completions > indexes:
		return wrong("parallelism and completions must be from 1 to %d", indexes)
	case j.Rule == "" && j.On != "":
		return wrong("the rule has no action")
	case j.Rule != "" && j.On != OnCode && j.On != OnDisruption:
		return wrong("the rule must match %s or %s", OnCode, OnDisruption)
	case j.pods() > Most:
		return wrong("it may have %d pods at a time; at most %d", j.pods(), Most)
	}
	for i, n := range j.Budget {
		if n > mostOften {
			return wrong("%s may be at most %d", faultNames[i], mostOften)
		}
	}
	job := batch.Job{ObjectMeta: batch.ObjectMeta{Name: "job"}, Spec: j.Spec()}
	if err := job.Spec.Validate(); err != nil {
		return wrong("%v", err)
	}
	return nil
}

// pods returns how many pods may be in a state.
func (j Job) pods() int {
	b := &j.Budget
	lost := b[Failure] + b[RuleFailure] + b[Eviction] + b[Deletion] + b[Vanishing] + b[Takeover] + b[LostState] + b[LostAnswer]
	return j.Completions + min(int(lost), int(b[Total])) + int(b[Suspension])*min(j.Parallelism, j.Completions)
}

// Spec returns the specification with defaults.
func (j Job) Spec() batch.JobSpec {
	number := func(n int) *int32 {
		if n < 0 {
			return nil
		}
		v := int32(n)
		return &v
	}
	s := batch.JobSpec{
		Parallelism: number(j.Parallelism), Completions: number(j.Completions),
		BackoffLimit: number(j.BackoffLimit), BackoffLimitPerIndex: number(j.PerIndex), MaxFailedIndexes: number(j.MaxFailed),
	}
	if j.Indexed {
		s.CompletionMode = batch.IndexedCompletion
	}
	if j.ReplaceEnded {
		s.PodReplacementPolicy = batch.PodReplacementFailed
	}
	if j.Success > 0 {
		s.SuccessPolicy = &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededCount: number(j.Success)}}}
	}
	if j.Rule != "" {
		rule := batch.PodFailurePolicyRule{Action: j.Rule}
		if j.On == OnCode {
			rule.OnExitCodes = &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{9}}
		} else {
			rule.OnPodConditions = []batch.OnPodCondition{{Type: batch.DisruptionTarget}}
		}
		s.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{rule}}
	}
	s.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	s.Template.Spec.Containers = []batch.Container{{Name: "main"}}
	s.Default()
	return s
}
