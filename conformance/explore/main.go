// Command explore visits every history of small Jobs under the controller of package
// jobpolicy, with all faults that their budgets allow, and checks invariants at every
// step. It prints a table of the Jobs. If an invariant is broken, it prints a shortest
// story that breaks it, and the exit code is 1. Run it in the root of the repository:
//
//	go -C conformance run ./explore                       every Job of the table
//	go -C conformance run ./explore -faults 1             the same, with one fault in each history
//	go -C conformance run ./explore -completions 1        Jobs with one completion
//	go -C conformance run ./explore -only watchOnly       those whose text contains this
//	go -C conformance run ./explore -job "completions=2 parallelism=2 fail=1 crash=1 total=2"
//	go -C conformance run ./explore -story FILE           replays a story
//
// Package jobworld explains the world, and the texts of Jobs and stories.
package main

import (
	"github.com/restartkit/restart/conformance/explore/cli"
	"github.com/restartkit/restart/conformance/explore/jobworld"
	"github.com/restartkit/restart/jobpolicy"
)

var command = cli.Command{
	Name: "explore", World: world, Shapes: cli.Shapes(),
	Faults: "fail=2 evict=1 delete=1 vanish=1 refuse=1 unanswered=1 crash=1 oldState=1 loseState=1 takeover=1",
}

func main() { command.Main() }

// longest is the longest delay of the explored controller. The first delay is one unit,
// and delays double once.
const longest = 2 * jobworld.Unit

// world returns the Job with the controller of package jobpolicy.
func world(job jobworld.Job) (*jobworld.World, error) {
	engine := jobpolicy.Engine{BaseDelay: jobworld.Unit, MaxDelay: longest}
	return jobworld.New(job, func() jobworld.Controller { return &jobworld.Planner{Engine: engine} }, longest)
}
