package restart_test

import (
	"context"
	"fmt"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// exitOf is all that joins the two packages. A caller counts the runs, and says what
// an end that nobody saw counts as: here as a failure.
func exitOf(e pleg.Exit[string], run int64) backoff.Exit {
	if !e.Known {
		return backoff.Exit{Run: run, Code: 137, Reason: string(e.Source)}
	}
	return backoff.Exit{Run: run, Code: e.Details.Code, Reason: e.Details.Reason, Started: e.Details.Started, Finished: e.Details.Finished}
}

// A container that fails is started again: pleg sees its exit, backoff decides. The
// runtime and the clock are simulated, so each relist is asked for and each wait is a
// step of the clock; otherwise Run lists, Next waits for exits and a timer for starts.
func Example_lifecycle() {
	ctx := context.Background()
	begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(begin)
	rt := plegtest.New[string](1, plegtest.Faults{})
	rt.SetClock(clock)
	cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{Clock: clock})
	defer cache.Close()
	gen, err := pleg.NewGenerator(rt, nil, cache, pleg.GeneratorOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	exits, err := gen.ExitReader(pleg.ExitOptions[string]{}) // before the first relist
	if err != nil {
		fmt.Println(err)
		return
	}
	defer exits.Close()
	restarter, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}

	for run, code := range []int32{1, 1, -1, 0} { // -1: it is removed before anybody sees it exit
		id := fmt.Sprint("web-", run)
		rt.Create("web", id)
		rt.Start("web", id)
		gen.Relist(ctx)
		clock.Step(5 * time.Second)
		if code < 0 {
			rt.Remove("web", id)
		} else {
			rt.ExitCode("web", id, code)
		}
		gen.Relist(ctx)

		for e, ok := exits.TryNext(); ok; e, ok = exits.TryNext() {
			exit := exitOf(e, int64(run+1))
			d := restarter.Exited(e.Pod, policy, exit)
			fmt.Printf("%v: %s (%s): %s\n", clock.Since(begin), e.Container, e.Source, d.Reason(policy, exit))
		}
		clock.Step(restarter.Remaining("web")) // waits
	}
	// Output:
	// 5s: web-0 (relist): exit code 1 (Error) under restartPolicy OnFailure: restarted after 10s (failure 1 in a row)
	// 20s: web-1 (relist): exit code 1 (Error) under restartPolicy OnFailure: restarted after 20s (failure 2 in a row)
	// 45s: web-2 (inferred): exit code 137 (inferred) under restartPolicy OnFailure: restarted after 40s (failure 3 in a row)
	// 1m30s: web-3 (relist): exit code 0 (Completed) under restartPolicy OnFailure: not restarted
}
