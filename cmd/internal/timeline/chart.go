package timeline

import (
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
)

// Chart is a run as rows of bars on a time axis. Times are relative to Begin and
// exclude pauses between runs.
//
//  1. Every attempt is a bar of one row, or counted in one strip.
//  2. All times are in 0..Length, and no bar ends before it begins.
//  3. Rows has at most MaxRows elements, and their Indexes add up to the Chart's.
type Chart struct {
	Job      string
	Result   string // such as "Complete (CompletionsReached)"
	Indexed  bool
	Begin    time.Time
	Length   time.Duration
	Rows     []Row
	Marks    []Mark
	Outcomes [OutcomeCount]int // of all bars
	Indexes  int               // or lanes, if not Indexed
	Attempts int               // number of pods
	Restarts int               // of containers in their pods
	Waited   bool              // some rows have waits
	Paused   time.Duration     // between runs
	Killed   bool              // a run did not tell its end, so it ends at its last event
}

// MaxRows is the highest number of rows. In larger Jobs, failed indexes and those with
// the most attempts have their own rows. The others share rows in groups.
const MaxRows = 200

// A chart with groups has at least leastOwn rows with one index. Failed indexes may
// raise the number up to mostOwn.
const (
	leastOwn = 40
	mostOwn  = 120
)

// Row shows an index, a lane of pods without indexes, or a group of indexes.
type Row struct {
	First, Last int  // indexes or lanes; the lowest and highest of a group
	Indexes     int  // number of indexes
	Attempts    int  // number of pods
	Failed      bool // the last attempt of each index failed
	Bars        []Bar
	Waits       []Wait
	Strip       []Bar // replaces Bars in a group, or in a row with too many
}

// Bar is a pod, or the part seen by one run of the program.
type Bar struct {
	From, To time.Duration
	Outcome  Outcome
	Pod      string
	Attempt  int
	Detail   string
	Restarts []Wait // of its containers
}

// Wait is the time before a start.
type Wait struct {
	From, To time.Duration
	Detail   string
}

// Mark is an event of the Job.
type Mark struct {
	At     time.Duration
	Label  string
	Detail string
}

// Outcome is the outcome of a pod.
type Outcome uint8

// Outcomes.
const (
	OutcomeSucceeded  Outcome = iota
	OutcomeFailed             // failed, counted
	OutcomeIgnored            // failed, not counted
	OutcomeLast               // failed with its index
	OutcomeTerminated         // deleted
	OutcomeUnfinished         // running at the end of the run, or still

	OutcomeCount = iota
)

// String returns the outcome as shown in the legend.
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

// Summary returns the totals in one line.
func (c *Chart) Summary() string {
	row := "lane"
	if c.Indexed {
		row = "index"
	}
	parts := []string{human.Count(c.Indexes, row), human.Count(c.Attempts, "attempt")}
	for o, n := range c.Outcomes {
		if n > 0 {
			parts = append(parts, human.Thousands(n)+" "+Outcome(o).String())
		}
	}
	if c.Restarts > 0 {
		parts = append(parts, human.Count(c.Restarts, "restart"))
	}
	return strings.Join(parts, " · ") + " · " + human.Wait(c.Length)
}
