package explain

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

// crashLoop is the curve of a kubelet with its default settings.
var crashLoop = backoff.CrashLoop()

// A kubelet counts the runs of a container that ended and were started again, and it
// forgets them when a run lasts more than ten minutes. The first restart has no delay, the
// second waits 10s, and each further one twice as long, up to 5m (Kubernetes 1.37,
// pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff). So the delay after run k is
// 10s · 2^(k−2), if none of the runs lasted that long.

// estimatedDelay estimates the delay after the latest exit of a container, which the
// kubelet has not told. The second result says how.
func estimatedDelay(h *convert.History) (time.Duration, string) {
	exit, ok := h.Last()
	if !ok {
		return 0, ""
	}
	if ran := runLength(exit); ran > crashLoop.ResetAfter {
		return 0, fmt.Sprintf("a run of more than %s starts the delays over", short(crashLoop.ResetAfter))
	}
	if len(h.Exits) > 1 && runLength(h.Exits[0]) > crashLoop.ResetAfter {
		return crashLoop.Initial, fmt.Sprintf("the run before lasted more than %s, which started the delays over, so this one is the first, of %s", short(crashLoop.ResetAfter), short(crashLoop.Initial))
	}
	byRun, how := delayAfterRun(exit.Run)
	before, ok := delayBefore(h)
	delay := afterDelay(before)
	// Only a count that has started over makes the delay shorter than the runs say. A longer
	// time between the runs has another cause, such as an image that was pulled.
	if ok && (delay <= byRun || exit.Run <= 0) {
		return delay, fmt.Sprintf("the restart before waited about %s, and the delay doubles up to %s", short(before), short(crashLoop.Max))
	}
	return byRun, how
}

// afterDelay returns the delay after the one that the latest run had waited for.
func afterDelay(before time.Duration) time.Duration {
	if before <= 0 {
		return crashLoop.Initial
	}
	return min(2*before, crashLoop.Max)
}

// delayAfterRun estimates the delay after a run, counted from 1.
func delayAfterRun(run int64) (time.Duration, string) {
	if run <= 1 {
		return 0, "the first restart has no delay"
	}
	delay := crashLoop.Delay(int(min(run-1, 1000)))
	if delay == crashLoop.Max {
		return delay, fmt.Sprintf("after run %d the delay has reached its maximum of %s", run, short(delay))
	}
	return delay, fmt.Sprintf("after run %d the delay is %s, doubled each time, if no run lasted %s", run, short(delay), short(crashLoop.ResetAfter))
}

// delayBefore returns the delay that the latest run had waited for, as far as the end of
// the run before and its own start tell.
func delayBefore(h *convert.History) (time.Duration, bool) {
	if len(h.Exits) < 2 {
		return 0, false
	}
	return delayBetween(h.Exits[0].Finished, h.Exits[1].Started)
}

// delayBetween returns the delay of the curve that explains the time between the end of a
// run and the start of the next. ok is false if none does, for example because an image
// was pulled meanwhile.
func delayBetween(finished, started time.Time) (delay time.Duration, ok bool) {
	if finished.IsZero() || started.IsZero() || started.Before(finished) {
		return 0, false
	}
	const seconds = 2 * time.Second // times are in whole seconds, and a start takes time
	gap := started.Sub(finished)
	if gap < crashLoop.Initial-time.Second {
		return 0, gap <= 2*seconds // else it may be a delay of a shorter curve
	}
	for failures := 1; ; failures++ {
		delay = crashLoop.Delay(failures)
		w := backoff.KubeletRestart(delay, 0)
		switch {
		case gap < w.From-time.Second:
			return 0, false
		case gap <= w.To+seconds:
			return delay, true
		case delay == crashLoop.Max:
			return 0, false
		}
	}
}

// nextDelay estimates the delay after the run that goes on now, if it ends before it has
// lasted as long as the curve remembers.
func nextDelay(h *convert.History) time.Duration {
	s := h.Status
	byRun, _ := delayAfterRun(int64(s.RestartCount) + 1)
	exit, ok := h.Last()
	if ok && runLength(exit) > crashLoop.ResetAfter {
		return crashLoop.Initial // the delays had started over, and the run that goes on waited for none
	}
	if ok && s.State.Running != nil {
		if before, ok := delayBetween(exit.Finished, s.State.Running.StartedAt.Time); ok {
			return min(afterDelay(before), byRun)
		}
	}
	return byRun
}

// runLength returns how long a run lasted, or 0 if the status does not show it.
func runLength(e backoff.Exit) time.Duration {
	if e.Started.IsZero() || e.Finished.Before(e.Started) {
		return 0
	}
	return e.Finished.Sub(e.Started)
}
