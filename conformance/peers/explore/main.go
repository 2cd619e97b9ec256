// Command explore visits every history of small Jobs under Kubernetes' own Job
// controller. Its flags and its output are those of conformance/explore. Run it in the
// root of the repository:
//
//	go -C conformance/peers run ./explore
//	go -C conformance/peers run ./explore -faults 1
//	go -C conformance/peers run ./explore -story FILE
//
// conformance/explore/kubernetes.md has the results.
package main

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/runtime"
	job "k8s.io/kubernetes/pkg/controller/job"

	"github.com/restartkit/restart/conformance/explore/cli"
	"github.com/restartkit/restart/conformance/explore/jobworld"
)

// command explores the Jobs of conformance/explore. The controller stores nothing
// outside its process, and sees its own writes by the watch only.
var command = cli.Command{
	Name: "explore", World: world, Shapes: shapes(),
	Faults: "fail=2 evict=1 delete=1 vanish=1 refuse=1 unanswered=1 crash=1 takeover=1",
}

func main() { command.Main() }

// longest is the longest delay of the explored controller. The first delay is one unit,
// and delays double once.
const longest = 2 * jobworld.Unit

func world(j jobworld.Job) (*jobworld.World, error) {
	runtime.ErrorHandlers = nil // they log and sleep
	job.DefaultJobPodFailureBackOff, job.MaxJobPodFailureBackOff = jobworld.Unit, longest
	return jobworld.New(j, newController, longest)
}

func shapes() (all []string) {
	for _, shape := range cli.Shapes() {
		if !strings.Contains(shape, "watchOnly") {
			shape += " watchOnly"
		}
		all = append(all, jobworld.MustParseJob(shape).String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}
