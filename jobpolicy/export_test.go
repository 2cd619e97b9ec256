package jobpolicy

import "github.com/restartkit/restart/jobpolicy/batch"

// The parts of a pass that tests look at alone.
var (
	NameFirst       = nameFirst       // of the vectors
	FailJobMessages = failJobMessages // of the vectors
	GenerateName    = generateName
	PodText         = podText
	Remaining       = remaining
	Streak          = streak
	Until           = until
)

// MaxCount is the highest failure count.
const MaxCount = maxCount

// Tabled is how many rules of a policy a plan keeps in a table.
const Tabled = tabled

// MatchInPlan returns what matches pods as a plan does, with a table.
func MatchInPlan(p *batch.PodFailurePolicy) func(*batch.Pod) Match { return newRuleTable(p).match }

// IndexFailedAfter is IndexFailed as a plan asks it, by the failures before.
func IndexFailedAfter(m Match, before int, limit *int32) bool {
	return m.indexFailedAfter(before, limit)
}
