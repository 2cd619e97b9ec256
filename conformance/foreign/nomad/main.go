// Command nomad answers the recorded cases of restart delays with Nomad's restart
// tracker. See conformance/vectors/README.md.
package main

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/nomad/client/allocrunner/taskrunner/restarts"
	"github.com/hashicorp/nomad/nomad/structs"
	"github.com/hashicorp/nomad/plugins/drivers"

	"github.com/restartkit/restart/conformance/foreign"
	"github.com/restartkit/restart/conformance/vectors/serve"
	"github.com/restartkit/restart/conformance/vectors/shape"
)

func main() { foreign.Main(foreign.System{CrashLoop: delays, Retry: delays}) }

// delays returns the tracker's delay after each run, with as many attempts as it likes.
func delays(in shape.Delays) (all []time.Duration, err error) {
	if in.Base() != in.Max() {
		return nil, serve.Unsupported("delays that grow; the tracker has one delay")
	}
	tracker := restarts.NewRestartTracker(&structs.RestartPolicy{
		Attempts: math.MaxInt32, Interval: 100 * 365 * 24 * time.Hour, Delay: in.Base(), Mode: structs.RestartPolicyModeDelay,
	}, structs.JobTypeService, nil)
	for _, run := range in.Runs() {
		time.Sleep(run) // in a bubble
		state, delay := tracker.SetExitResult(&drivers.ExitResult{ExitCode: 1}).GetState()
		if state != structs.TaskRestarting {
			return nil, fmt.Errorf("state %q: %s", state, tracker.GetReason())
		}
		all = append(all, delay)
		time.Sleep(delay)
	}
	return all, nil
}
