// Command kubernetes visits every history of small Jobs under Kubernetes' own Job
// controller, as command explore does under this library. Each pass is one call of
// Kubernetes' own function, with its caches filled from the state and its requests answered
// as the history says. The invariants are the same. Run it in the root of the repository:
//
//	go -C conformance run ./explore/kubernetes
//	go -C conformance run ./explore/kubernetes -faults 1
//	go -C conformance run ./explore/kubernetes -story FILE
//
// Its world differs from that of this library's controller:
//
//   - Kubernetes sends the requests of a batch at the same time. The world carries them out by
//     index, and then by pod.
//   - A pass begins only when the watches have shown the answered writes of earlier passes, as
//     the gate StaleControllerConsistencyJob demands, on by default since 1.36.
//   - Expectations count creations and deletions as the informer's handlers do. They do not
//     expire. A pod that is created and deleted between two observations counts as both.
//   - A request about a deleted pod gets the error NotFound, which Kubernetes often takes
//     for success.
//   - A pass may begin at any moment; the queue's delays after errors are left out.
//   - Delays begin with 10 s and double once, instead of up to 10 minutes.
//   - A crash loses everything that Kubernetes knows, because it stores nothing outside its
//     process.
//
// docs/kubernetes-faults.md has the faults that it found.
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
	Name: "kubernetes", World: world, Shapes: shapes(),
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
