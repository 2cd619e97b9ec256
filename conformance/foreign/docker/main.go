// Command docker answers the recorded cases of restart delays with Docker's restart
// manager. See conformance/vectors/README.md.
package main

import (
	"errors"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/restartmanager"

	"github.com/restartkit/restart/conformance/foreign"
	"github.com/restartkit/restart/conformance/vectors/serve"
	"github.com/restartkit/restart/conformance/vectors/shape"
)

func main() { foreign.Main(foreign.System{CrashLoop: crashLoop, Retry: retry}) }

// The restart manager's constants.
const (
	base  = 100 * time.Millisecond
	max   = time.Minute
	reset = 10 * time.Second
)

func crashLoop(in shape.Delays) ([]time.Duration, error) {
	if in.Base() != base || in.Max() != max || in.Reset() != reset {
		return nil, serve.Unsupported("other settings than 100 ms, 1 m and 10 s, which are constants of the restart manager")
	}
	return delays(in.Runs())
}

// retry answers for short attempts only, which never start the curve over.
func retry(in shape.Delays) ([]time.Duration, error) {
	if in.Base() != base || in.Max() != max {
		return nil, serve.Unsupported("other settings than 100 ms and 1 m, which are constants of the restart manager")
	}
	for _, took := range in.Runs() {
		if took >= reset {
			return nil, serve.Unsupported("attempts of 10 s or longer, after which the restart manager starts over")
		}
	}
	return delays(in.Runs())
}

// delays returns how long the restart manager takes to signal each restart.
func delays(runs []time.Duration) (all []time.Duration, err error) {
	manager := restartmanager.New(container.RestartPolicy{Name: container.RestartPolicyAlways}, 0)
	for _, run := range runs {
		time.Sleep(run) // in a bubble
		exited := time.Now()
		restart, due, err := manager.ShouldRestart(1, false, run)
		if err != nil || !restart {
			return nil, errors.Join(err, errors.New("no restart"))
		}
		if err := <-due; err != nil {
			return nil, err
		}
		all = append(all, time.Since(exited))
	}
	return all, nil
}
