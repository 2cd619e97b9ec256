package jobpolicy

import "github.com/restartkit/restart/jobpolicy/batch"

// The parts of a plan with tests of their own.
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

// Tabled is the number of rules in a codeTable.
const Tabled = tabled

// MatchInPlan returns a function that matches pods like Plan, with a ruleTable.
func MatchInPlan(p *batch.PodFailurePolicy) func(*batch.Pod) Match { return newRuleTable(p).match }

// IndexFailedAfter is IndexFailed for the failures before the pod.
func IndexFailedAfter(m Match, before int, limit *int32) bool {
	return m.indexFailedAfter(before, limit)
}
