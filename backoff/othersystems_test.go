package backoff_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
)

// otherSystem is the restart policy of another system, written as ours.
type otherSystem struct {
	name, source string
	theirs       string // the policy, as the other system writes it
	rules        string // restartPolicy and restartPolicyRules
	curve        backoff.Policy
	limit        int
	window       time.Duration
	exits        []otherExit
	lost         []string // what does not carry over
}

// otherExit is an exit and the other system's response.
type otherExit struct {
	ran    time.Duration
	code   int32
	signal int32
	reason string
	want   backoff.Action
	delay  time.Duration
}

const (
	again = backoff.ActionRestart
	end   = backoff.ActionGiveUp
)

// atOnce stands for no delay, which no curve has.
var atOnce = backoff.Policy{Initial: 1, Max: 1}

var otherSystems = []otherSystem{
	{
		name:   "AWS Batch evaluateOnExit",
		source: "https://docs.aws.amazon.com/batch/latest/APIReference/API_EvaluateOnExit.html, API_RetryStrategy.html",
		theirs: `{"attempts": 3, "evaluateOnExit": [
			{"onExitCode": "13*", "action": "RETRY"}, {"onReason": "CannotPullContainerError", "action": "EXIT"}, {"onExitCode": "1", "action": "EXIT"}]}`,
		// A prefix of a code is a few ranges: 13, 130 to 139. attempts counts runs, so the
		// third failure is the last, whatever rule it meets.
		rules: `{"restartPolicy": "OnFailure", "restartPolicyRules": [
			{"action": "GiveUp", "minFailures": 3, "exitCodes": {"operator": "NotIn", "values": [0]}},
			{"action": "Restart", "exitCodes": {"operator": "In", "values": [13], "ranges": ["130-139"]}},
			{"action": "GiveUp", "reasons": ["CannotPullContainerError"]},
			{"action": "GiveUp", "exitCodes": {"operator": "In", "values": [1]}}]}`,
		curve: backoff.Policy{Initial: 1, Max: 1, ResetAfter: math.MaxInt64},
		exits: []otherExit{{code: 137, want: again, delay: 1}, {code: 7, want: again, delay: 1, ran: time.Hour}, {code: 13, want: end}},
		lost: []string{
			"a prefix of a reason (onReason, onStatusReason with *): reasons are whole",
			"onStatusReason beside onReason: an Exit has one reason",
			"case-insensitive comparison",
		},
	},
	{
		name:   "AWS Batch evaluateOnExit, EXIT",
		source: "https://docs.aws.amazon.com/batch/latest/APIReference/API_EvaluateOnExit.html",
		theirs: `{"attempts": 10, "evaluateOnExit": [{"onExitCode": "1", "action": "EXIT"}]}`,
		rules:  `{"restartPolicy": "OnFailure", "restartPolicyRules": [{"action": "GiveUp", "minFailures": 10, "exitCodes": {"operator": "NotIn", "values": [0]}}, {"action": "GiveUp", "exitCodes": {"operator": "In", "values": [1]}}]}`,
		curve:  atOnce,
		exits:  []otherExit{{code: 0, want: backoff.ActionStop}, {code: 2, want: again, delay: 1}, {code: 1, want: end}},
		lost:   []string{"attempts is per job, also over runs of any length; set ResetAfter to the longest duration, as above"},
	},
	{
		name:   "Nomad restart, mode fail",
		source: "https://developer.hashicorp.com/nomad/docs/job-specification/restart",
		theirs: `restart { attempts = 2  interval = "30m"  delay = "15s"  mode = "fail" }`,
		rules:  `{"restartPolicy": "OnFailure"}`,
		curve:  backoff.Policy{Initial: 15 * second, Max: 15 * second},
		limit:  2, window: 30 * time.Minute,
		exits: []otherExit{{code: 1, want: again, delay: 15 * second}, {code: 1, want: again, delay: 15 * second, ran: time.Minute}, {code: 1, want: end}},
		lost: []string{
			"mode = delay, which goes on when the interval is over",
			"the interval begins with the first start and then anew, ours slides",
			"up to 25 % of jitter is added; with Initial and Max of 18.75s and Jitter 0.2 a delay is in the same range",
			"reschedule on another node",
		},
	},
	{
		name:   "systemd RestartPreventExitStatus, RestartForceExitStatus",
		source: "systemd.service(5)",
		theirs: "Restart=on-failure\nRestartSec=100ms\nRestartPreventExitStatus=1 6 SIGABRT\nRestartForceExitStatus=0",
		rules: `{"restartPolicy": "OnFailure", "restartPolicyRules": [
			{"action": "GiveUp", "exitCodes": {"operator": "In", "values": [1, 6]}},
			{"action": "GiveUp", "signals": ["SIGABRT"]},
			{"action": "Restart", "exitCodes": {"operator": "In", "values": [0]}}]}`,
		curve: backoff.Policy{Initial: second / 10, Max: second / 10},
		exits: []otherExit{{code: 3, want: again, delay: second / 10}, {code: 0, want: again, delay: second / 10}, {signal: 6, code: 134, want: end}, {code: 6, want: end}},
		lost: []string{
			"SIGHUP, SIGINT, SIGTERM and SIGPIPE are clean ends under on-failure: a rule on these signals has to say Restart or GiveUp",
			"on-watchdog, on-abnormal, on-abort: time limits are no exits",
			"an exit code of 134 is taken for SIGABRT too, if no signal is told",
		},
	},
	{
		name:   "systemd StartLimit",
		source: "systemd.unit(5), StartLimitIntervalSec=, StartLimitBurst=",
		theirs: "Restart=always\nRestartSec=1\nStartLimitIntervalSec=10\nStartLimitBurst=3",
		rules:  `{"restartPolicy": "Always"}`,
		curve:  backoff.Policy{Initial: second, Max: second},
		limit:  2, window: 10 * second, // the first start counts there, so two restarts follow it
		exits: []otherExit{{code: 1, want: again, delay: second}, {code: 1, want: again, delay: second}, {code: 1, want: end}},
		lost: []string{
			"once the first start is older than the interval a third restart fits: starts count there, restarts here",
			"starts by hand count there",
			"StartLimitAction=reboot",
		},
	},
	{
		name:   "systemd RestartSteps",
		source: "systemd.service(5), RestartSteps=, RestartMaxDelaySec=; src/core/service.c, service_restart_usec_next",
		theirs: "Restart=always\nRestartSec=1\nRestartSteps=3\nRestartMaxDelaySec=27",
		rules:  `{"restartPolicy": "Always"}`,
		curve:  backoff.Policy{Initial: second, Max: 27 * second, Factor: math.Pow(27, 1.0/3), ResetAfter: math.MaxInt64}, // (RestartMaxDelaySec/RestartSec)^(1/RestartSteps)
		exits:  []otherExit{{code: 1, want: again, delay: second}, {want: again, delay: 3 * second}, {want: again, delay: 9 * second}, {want: again, delay: 27 * second}, {want: again, delay: 27 * second, ran: time.Hour}},
		lost:   []string{"nothing; there the delay starts over with a start by hand, as with Reset"},
	},
	{
		name:   "Docker on-failure:3",
		source: "https://docs.docker.com/engine/containers/start-containers-automatically/, https://docs.docker.com/reference/cli/docker/container/run/#restart",
		theirs: "--restart on-failure:3",
		rules:  `{"restartPolicy": "OnFailure"}`,
		curve:  backoff.Policy{Initial: second / 10, Max: time.Minute, ResetAfter: 10 * second},
		limit:  3,
		exits: []otherExit{{code: 1, want: again, delay: second / 10}, {code: 1, want: again, delay: second / 5},
			{code: 1, want: again, delay: second / 5 * 2}, {code: 1, want: end}},
		lost: []string{
			"a run of ten seconds or more starts only the delay over there; here a longer one starts the limit over, too",
			"a run of exactly ten seconds starts the delay over there, not here",
		},
	},
	{
		name:   "Docker always, unless-stopped",
		source: "https://docs.docker.com/engine/containers/start-containers-automatically/",
		theirs: "--restart always",
		rules:  `{"restartPolicy": "Always"}`,
		curve:  backoff.Policy{Initial: second / 10, Max: time.Minute, ResetAfter: 10 * second},
		exits:  []otherExit{{code: 0, want: again, delay: second / 10}, {code: 1, want: again, delay: second / 5}, {code: 137, want: again, delay: 2 * second / 5}},
		lost:   []string{"whether a container that was stopped by hand starts with the daemon: not an exit"},
	},
	{
		name:   "Docker no",
		source: "https://docs.docker.com/engine/containers/start-containers-automatically/",
		theirs: "--restart no",
		rules:  `{"restartPolicy": "Never"}`,
		curve:  atOnce,
		exits:  []otherExit{{code: 1, want: backoff.ActionStop}, {code: 0, want: backoff.ActionStop}},
		lost:   []string{"nothing"},
	},
	{
		name:   "Flink exponential-delay",
		source: "https://nightlies.apache.org/flink/flink-docs-stable/docs/ops/state/task_failure_recovery/",
		theirs: "restart-strategy.type: exponential-delay\ninitial-backoff: 1 s\nmax-backoff: 1 min\nbackoff-multiplier: 1.5\nreset-backoff-threshold: 1 h\njitter-factor: 0\nattempts-before-reset-backoff: 3",
		rules:  `{"restartPolicy": "OnFailure", "restartPolicyRules": [{"name": "attempts-before-reset", "action": "GiveUp", "minFailures": 4}]}`,
		curve:  backoff.Policy{Initial: second, Max: time.Minute, Factor: 1.5, ResetAfter: time.Hour},
		exits: []otherExit{{code: 1, want: again, delay: second}, {code: 1, want: again, delay: 1500 * time.Millisecond}, {code: 1, want: again, delay: second, ran: time.Hour + 1},
			{code: 1, want: again, delay: 1500 * time.Millisecond}, {code: 1, want: again, delay: 2250 * time.Millisecond}, {code: 1, want: end}},
		lost: []string{
			"jitter to both sides: with d*1.1 and Jitter 0.2/1.1 a delay is in the range of jitter-factor 0.1, but for Max",
			"the threshold counts from the last restart on, ours the run alone",
			"failures of several tasks at once count as one there",
		},
	},
}

// Policies of other systems decide like their translations, as far as these exist. -v
// prints the differences.
func TestPoliciesOfOtherSystems(t *testing.T) {
	for _, s := range otherSystems {
		t.Run(s.name, func(t *testing.T) {
			var c backoff.ExitPolicy
			if err := json.Unmarshal([]byte(s.rules), &c); err != nil {
				t.Fatal(err)
			}
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
			r, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &s.curve, Limit: s.limit, Window: s.window}, backoff.RestarterOptions[string]{Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range s.exits {
				started := clock.Now()
				clock.SetTime(started.Add(e.ran))
				d := r.Exited("a", c, backoff.Exit{Run: int64(i + 1), Code: e.code, Signal: e.signal, Reason: e.reason, Started: started, Finished: clock.Now()})
				if off := d.Delay - e.delay; d.Action != e.want || off.Abs() > 2 { // a factor may round
					t.Errorf("exit %d: %s after %v, want %s after %v", i+1, d.Action, d.Delay, e.want, e.delay)
				}
				clock.SetTime(clock.Now().Add(remaining(r, "a")))
			}
			if len(s.lost) == 0 || s.source == "" {
				t.Error("not said what is lost, or where it stands")
			}
			t.Logf("%s\n%s\nours: %s, curve %s, limit %d in %v\nlost: %s", s.source, s.theirs, s.rules, fmt.Sprintf("%+v", s.curve), s.limit, s.window, strings.Join(s.lost, "\n      "))
		})
	}
}
