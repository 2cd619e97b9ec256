package timeline

import (
	"strings"
	"time"
)

// Chart is a run as it is drawn: rows of bars on an axis of time. All times are since
// Begin, without the pauses in which no run went on. Make one with Layout.
//
//  1. Every attempt is a bar of one row, or counted in one strip.
//  2. All times are in 0..Length, and no bar ends before it begins.
//  3. Rows lists no more than MaxRows, and the Indexes of all add up.
type Chart struct {
	Job      string
	Result   string // such as "Complete (CompletionsReached)"
	Indexed  bool
	Begin    time.Time
	Length   time.Duration
	Rows     []Row
	Marks    []Mark
	Outcomes [OutcomeCount]int // of all bars
	Indexes  int               // or lanes, if the Job is not Indexed
	Attempts int               // pods
	Restarts int               // of containers in their pods
	Waited   bool              // there are waits
	Paused   time.Duration     // between runs, left out of the axis
}

// MaxRows is the highest number of rows. A Job with more indexes shows those that failed,
// and those with the most attempts, in rows of their own, and the others in groups.
const MaxRows = 200

// In a chart with groups there are at least leastOwn rows of one index, and more for
// indexes that failed, up to mostOwn.
const (
	leastOwn = 40
	mostOwn  = 120
)

// Row is what happened to an index, to a lane of pods without indexes, or to a group of
// indexes.
type Row struct {
	First, Last int  // indexes or lanes; of a group the lowest and the highest
	Indexes     int  // how many
	Attempts    int  // pods
	Failed      bool // for good, or so far: the last attempt of each index did
	Bars        []Bar
	Waits       []Wait
	Strip       []Bar // in place of Bars, if there are too many or the row is a group
}

// Bar is a pod, or what a run of the program saw of it.
type Bar struct {
	From, To time.Duration
	Outcome  Outcome
	Pod      string
	Attempt  int
	Detail   string
	Restarts []Wait // of its containers
}

// Wait is a time in which the next start is waited for.
type Wait struct {
	From, To time.Duration
	Detail   string
}

// Mark is what happened to the Job.
type Mark struct {
	At     time.Duration
	Label  string
	Detail string
}

// ExitRecord is how a pod ended.
type Outcome uint8

// The outcomes.
const (
	OutcomeSucceeded  Outcome = iota
	OutcomeFailed             // and it counted
	OutcomeIgnored            // it failed, and that did not count
	OutcomeLast               // it failed, and its index with it
	OutcomeTerminated         // it was deleted
	OutcomeUnfinished         // it ran when the run was cut off, or still does

	OutcomeCount = iota
)

// String returns the outcome as the legend has it.
func (o Outcome) String() string {
	if int(o) >= OutcomeCount {
		return "unknown"
	}
	return [OutcomeCount]string{"succeeded", "failed", "failed, not counted", "failed, and its index", "deleted", "not ended"}[o]
}

// Title returns the Job's name and result.
func (c *Chart) Title() string {
	name := "Job"
	if c.Job != "" {
		name += " " + c.Job
	}
	return name + ": " + c.Result
}

// Summary returns the numbers in one line.
func (c *Chart) Summary() string {
	what := "lane"
	if c.Indexed {
		what = "index"
	}
	parts := []string{count(c.Indexes, what), count(c.Attempts, "attempt")}
	for o, n := range c.Outcomes {
		if n > 0 {
			parts = append(parts, plain(n)+" "+Outcome(o).String())
		}
	}
	if c.Restarts > 0 {
		parts = append(parts, count(c.Restarts, "restart"))
	}
	return strings.Join(parts, " · ") + " · " + short(c.Length)
}
