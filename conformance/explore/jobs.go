package main

import (
	"strings"

	"github.com/restartkit/restart/conformance/explore/jobworld"
	"github.com/restartkit/restart/jobpolicy"
)

// longest is the longest delay of the explored controller. The first delay is one unit,
// and delays double once.
const longest = 2 * jobworld.Unit

// world returns the Job with the controller of package jobpolicy.
func world(job jobworld.Job) (*jobworld.World, error) {
	engine := jobpolicy.Engine{BaseDelay: jobworld.Unit, MaxDelay: longest}
	return jobworld.New(job, func() jobworld.Controller { return &jobworld.Planner{Engine: engine} }, longest)
}

// every is the budget with one or two faults of each kind that a shape allows.
const every = " fail=2 evict=1 delete=1 vanish=1 refuse=1 unanswered=1 crash=1 oldState=1 loseState=1 takeover=1"

// shapes are the explored Jobs with the number of faults in each history.
var shapes = strings.TrimSpace(`
backoffLimit=0 total=3
backoffLimit=1 starts total=2
backoffLimit=2 suspend=1 total=3
watchOnly backoffLimit=1 total=3
completions=2 backoffLimit=1 total=3
completions=2 parallelism=2 backoffLimit=0 total=2
completions=2 parallelism=2 backoffLimit=1 total=2
completions=2 parallelism=2 backoffLimit=2 suspend=1 total=2
replaceEnded completions=2 parallelism=2 backoffLimit=1 total=2
watchOnly completions=2 parallelism=2 backoffLimit=1 total=2
completions=3 parallelism=2 backoffLimit=1 total=2
completions=3 parallelism=3 backoffLimit=1 total=1
completions=2 parallelism=2 backoffLimit=1 rule=Ignore:disruption total=2
completions=2 parallelism=2 backoffLimit=1 rule=Count:disruption total=2
completions=2 parallelism=2 backoffLimit=1 rule=FailJob:code fail9=1 total=2
indexed backoffLimit=0 total=3
indexed perIndex=0 total=3
indexed perIndex=1 total=3
indexed watchOnly perIndex=1 total=3
indexed completions=2 backoffLimit=1 total=3
indexed completions=2 parallelism=2 backoffLimit=1 total=2
indexed completions=2 perIndex=1 suspend=1 total=2
indexed completions=2 parallelism=2 perIndex=0 total=2
indexed completions=2 parallelism=2 perIndex=1 total=2
indexed completions=2 parallelism=2 perIndex=0 maxFailed=0 total=2
indexed completions=2 parallelism=2 perIndex=0 maxFailed=1 total=2
indexed replaceEnded completions=2 parallelism=2 perIndex=1 total=2
indexed completions=2 parallelism=2 success=1 total=2
indexed watchOnly completions=2 parallelism=2 perIndex=1 total=1
indexed completions=2 parallelism=2 perIndex=1 rule=Ignore:disruption total=2
indexed completions=2 parallelism=2 perIndex=1 rule=FailIndex:code fail9=1 total=2
indexed completions=2 parallelism=2 perIndex=1 rule=FailJob:code fail9=1 total=2
indexed completions=3 parallelism=2 perIndex=0 total=1
indexed completions=3 parallelism=3 perIndex=1 maxFailed=1 total=1
`)

// jobs returns the Jobs of the table whose text contains the words, with at most that many
// completions, and with at most that many faults in a history.
func jobs(words string, completions, faults int) (all []jobworld.Job) {
	for line := range strings.Lines(shapes) {
		job := jobworld.MustParseJob(line + every)
		job.Budget[jobworld.Total] = uint8(min(int(job.Budget[jobworld.Total]), faults))
		if job.Completions <= completions && strings.Contains(job.String(), words) {
			all = append(all, job)
		}
	}
	return all
}
