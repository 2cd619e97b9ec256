package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/backoff"
)

// curve starts over after 8s.
var curve = backoff.Policy{Initial: time.Second, Max: 4 * time.Second}

func in(values ...int32) *backoff.ExitCodes {
	return &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: values}
}

func notIn(values ...int32) *backoff.ExitCodes {
	return &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: values}
}

func inRange(first, last int32) *backoff.ExitCodes {
	return &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: []backoff.CodeRange{{First: first, Last: last}}}
}

// restart returns r with the action Restart.
func restart(r backoff.Rule) backoff.Rule {
	r.Action = backoff.ActionRestart
	return r
}

// restartAll returns r with the action RestartAllContainers.
func restartAll(r backoff.Rule) backoff.Rule {
	r.Action = backoff.ActionRestartAll
	return r
}

// giveUp returns r with the action GiveUp.
func giveUp(r backoff.Rule) backoff.Rule {
	r.Action = backoff.ActionGiveUp
	return r
}

// A later rule is hidden by an earlier one that decides on all of its exits, and by no
// other.
func TestHiddenRules(t *testing.T) {
	const long = 8*time.Second + 1 // starts the failures in a row over
	for _, tt := range []struct {
		name          string
		first, second backoff.Rule
		hidden        bool
	}{
		{"same codes", backoff.Rule{ExitCodes: in(1, 2)}, backoff.Rule{ExitCodes: in(2, 1)}, true},
		{"fewer codes", backoff.Rule{ExitCodes: in(1, 2)}, backoff.Rule{ExitCodes: in(2)}, true},
		{"one more code", backoff.Rule{ExitCodes: in(1, 2)}, backoff.Rule{ExitCodes: in(1, 2, 3)}, false},
		{"codes in a range", backoff.Rule{ExitCodes: inRange(1, 9)}, backoff.Rule{ExitCodes: in(1, 9)}, true},
		{"code after a range", backoff.Rule{ExitCodes: inRange(1, 9)}, backoff.Rule{ExitCodes: in(9, 10)}, false},
		{"range of listed codes", backoff.Rule{ExitCodes: in(4, 3, 5)}, backoff.Rule{ExitCodes: inRange(3, 5)}, true},
		{"range with a gap", backoff.Rule{ExitCodes: in(3, 5)}, backoff.Rule{ExitCodes: inRange(3, 5)}, false},
		{"all codes but one", backoff.Rule{ExitCodes: notIn(42)}, backoff.Rule{ExitCodes: in(3)}, true},
		{"the one code", backoff.Rule{ExitCodes: notIn(42)}, backoff.Rule{ExitCodes: in(3, 42)}, false},
		{"fewer exceptions", backoff.Rule{ExitCodes: notIn(1)}, backoff.Rule{ExitCodes: notIn(1, 2)}, true},
		{"more exceptions", backoff.Rule{ExitCodes: notIn(1, 2)}, backoff.Rule{ExitCodes: notIn(1)}, false},
		{"codes of Windows are possible", backoff.Rule{ExitCodes: inRange(0, 255)}, backoff.Rule{ExitCodes: notIn()}, false},
		{"every code", backoff.Rule{ExitCodes: notIn()}, backoff.Rule{Reasons: []string{"A"}}, true},
		{"reasons", backoff.Rule{Reasons: []string{"A", "B"}}, backoff.Rule{Reasons: []string{"B"}, ExitCodes: in(1)}, true},
		{"one more reason", backoff.Rule{Reasons: []string{"A"}}, backoff.Rule{Reasons: []string{"A", "B"}}, false},
		{"any reason", backoff.Rule{Reasons: []string{"A"}}, backoff.Rule{ExitCodes: in(1)}, false},
		{"signals", backoff.Rule{Signals: []string{"SIGTERM", "SIGKILL"}}, backoff.Rule{Signals: []string{"SIGKILL"}}, true},
		{"one more signal", backoff.Rule{Signals: []string{"SIGKILL"}}, backoff.Rule{Signals: []string{"SIGKILL", "SIGTERM"}}, false},
		{"any signal", backoff.Rule{Signals: []string{"SIGKILL"}}, backoff.Rule{RanLessThan: time.Second}, false},
		{"code of a signal", backoff.Rule{Signals: []string{"SIGTERM", "SIGKILL"}}, backoff.Rule{ExitCodes: in(137, 143)}, true},
		{"first and last signal", backoff.Rule{Signals: []string{"SIGHUP", "SIGRTMAX"}}, backoff.Rule{ExitCodes: in(129, 192)}, true},
		{"code of no signal", backoff.Rule{Signals: []string{"SIGHUP", "SIGRTMAX"}}, backoff.Rule{ExitCodes: in(128, 129)}, false},
		{"code after all signals", backoff.Rule{Signals: []string{"SIGHUP", "SIGRTMAX"}}, backoff.Rule{ExitCodes: in(192, 193)}, false},
		{"code of another signal", backoff.Rule{Signals: []string{"SIGTERM"}}, backoff.Rule{ExitCodes: in(137, 143)}, false},
		{"one of two codes has the signal", backoff.Rule{Signals: []string{"SIGKILL"}}, backoff.Rule{ExitCodes: in(137, 143), Signals: []string{"SIGKILL", "SIGHUP"}}, true},
		{"the only code of the two that has the signal", backoff.Rule{ExitCodes: in(137), Signals: []string{"SIGKILL"}}, backoff.Rule{ExitCodes: in(137, 143), Signals: []string{"SIGKILL"}}, true},
		{"signal whose code may differ", backoff.Rule{ExitCodes: in(137)}, backoff.Rule{Signals: []string{"SIGKILL"}}, false},
		{"shorter runs", backoff.Rule{RanLessThan: time.Minute}, backoff.Rule{RanLessThan: time.Second}, true},
		{"longer runs", backoff.Rule{RanAtLeast: time.Second}, backoff.Rule{RanAtLeast: time.Minute}, true},
		{"one run is as long", backoff.Rule{RanAtLeast: time.Second + 1}, backoff.Rule{RanAtLeast: time.Second}, false},
		{"runs between", backoff.Rule{RanAtLeast: 1, RanLessThan: 9}, backoff.Rule{RanAtLeast: 2, RanLessThan: 9}, true},
		{"runs on both sides", backoff.Rule{RanAtLeast: 1, RanLessThan: 9}, backoff.Rule{ExitCodes: in(1)}, false},
		{"more failures", backoff.Rule{MinFailures: 2}, backoff.Rule{MinFailures: 3}, true},
		{"fewer failures", backoff.Rule{MinFailures: 3}, backoff.Rule{MinFailures: 2}, false},
		{"the first failure, as any", backoff.Rule{MinFailures: 1}, backoff.Rule{ExitCodes: in(1)}, true},
		{"a second failure ran at most 8s", backoff.Rule{RanLessThan: long}, backoff.Rule{MinFailures: 2}, true},
		{"a first failure may run longer", backoff.Rule{RanLessThan: long}, backoff.Rule{MinFailures: 1}, false},
		{"one condition more", backoff.Rule{ExitCodes: in(1), Reasons: []string{"A"}}, backoff.Rule{ExitCodes: in(1)}, false},
	} {
		for _, first := range []backoff.Rule{giveUp(tt.first), restart(tt.first)} {
			p := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{first, giveUp(tt.second)}, Delay: &curve}
			if err := p.Validate(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			hidden := slices.ContainsFunc(Check(p), func(f Finding) bool { return f.Kind == KindUnreachable && f.Rule == 1 })
			if hidden != tt.hidden {
				t.Errorf("%s: hidden %t", tt.name, hidden)
			}
		}
	}
}

// Policies with their findings. A policy without findings has a near miss that another
// row reports.
func TestFindings(t *testing.T) {
	const never = backoff.RestartPolicyNever
	fixed := func(d time.Duration) *backoff.Policy { return &backoff.Policy{Initial: d, Max: d} }
	atOnce := &backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt}
	atOnceInARow := &backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt, ResetAfter: 10 * time.Minute}
	failed := giveUp(backoff.Rule{ExitCodes: in(3)})
	limited := restart(backoff.Rule{Name: "limited", ExitCodes: in(1), Limit: 3})
	for _, tt := range []struct {
		name   string
		policy backoff.ExitPolicy
		want   []string
	}{
		{"the zero policy", backoff.ExitPolicy{}, nil},
		{"an invalid policy", backoff.ExitPolicy{GiveUpFor: time.Minute, Retries: -1}, nil},
		{"what Kubernetes knows", backoff.ExitPolicy{RestartPolicy: never, Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(42)})}}, nil},

		{"a named rule hides another", backoff.ExitPolicy{Rules: []backoff.Rule{
			giveUp(backoff.Rule{Name: "bad-config", ExitCodes: in(3, 78)}), failed,
		}}, []string{
			"restartPolicyRules[1]: rule bad-config decides on every exit that this rule matches; remove this rule, or move it up (unreachable)",
		}},
		{"no code", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: in()})}}, []string{
			"restartPolicyRules[0]: exitCodes lists no code, so no exit meets it; list one, or remove the rule (unreachable)",
		}},
		{"a long run and two failures", backoff.ExitPolicy{Delay: &curve, Rules: []backoff.Rule{giveUp(backoff.Rule{RanAtLeast: 8*time.Second + 1, MinFailures: 2})}}, []string{
			"restartPolicyRules[0]: a run of ranAtLeast 8.000000001s starts the failures in a row over, so none is number 2; lower minFailures or ranAtLeast (unreachable)",
		}},
		{"the longest run that is not long", backoff.ExitPolicy{Delay: &curve, Rules: []backoff.Rule{giveUp(backoff.Rule{RanAtLeast: 8 * time.Second, MinFailures: 2})}}, nil},
		{"the code of another signal", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: in(137, 143), Signals: []string{"SIGSEGV"}})}}, []string{
			"restartPolicyRules[0]: every exit code stands for a signal that signals does not list, so no exit meets both; remove one of them (unreachable)",
		}},
		{"a signal without its code", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: in(1), Signals: []string{"SIGSEGV"}})}}, nil},

		{"codes outside 0 to 255", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: in(0, 255, 256, -1, 1<<16-1)})}}, []string{
			"restartPolicyRules[0].exitCodes.values: exit codes on Linux are 0 to 255, so only Windows can have 256, -1, 65535; remove such codes unless this runs there (unusual-code)",
		}},
		{"codes of Windows", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: in(-1073741819, 1<<16)})}}, nil},

		{"a restart that happens anyway", backoff.ExitPolicy{Rules: []backoff.Rule{failed, restart(backoff.Rule{ExitCodes: in(42)}), restart(backoff.Rule{Reasons: []string{"A"}})}}, []string{
			"restartPolicyRules[1]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
			"restartPolicyRules[2]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},
		// As the containers of a Deployment can have them.
		{"a restart beside a restart of all containers", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(42)}), restartAll(backoff.Rule{ExitCodes: in(88)}),
		}}, []string{
			"restartPolicyRules[0]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},
		{"a restart in place of one of all containers", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(42)}), restartAll(backoff.Rule{ExitCodes: notIn(0)}),
		}}, nil},
		{"a restart of all containers", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways, Rules: []backoff.Rule{restartAll(backoff.Rule{ExitCodes: in(42)})}}, nil},
		{"a restart that the container's own policy would not do", backoff.ExitPolicy{RestartPolicy: never, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(42)}), restartAll(backoff.Rule{ExitCodes: in(88)}),
		}}, nil},
		{"a restart of a success before one of a failure", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1)}), restart(backoff.Rule{ExitCodes: in(0, 1)}), restartAll(backoff.Rule{ExitCodes: in(2)}),
		}}, []string{
			"restartPolicyRules[0]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},

		{"a restart after other reasons than a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{Reasons: []string{"A"}}), giveUp(backoff.Rule{Reasons: []string{"B"}})}}, []string{
			"restartPolicyRules[0]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},
		{"a restart after the reason of a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{Reasons: []string{"A"}, ExitCodes: in(1)}), giveUp(backoff.Rule{Reasons: []string{"B", "A"}})}}, nil},
		{"a restart after other signals than a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{Signals: []string{"SIGTERM"}}), giveUp(backoff.Rule{Signals: []string{"SIGKILL"}})}}, []string{
			"restartPolicyRules[0]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},
		{"a restart after the signal of a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{Signals: []string{"SIGTERM"}}), giveUp(backoff.Rule{ExitCodes: in(137, 143)})}}, nil},
		{"a restart after one of the signals of a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{Signals: []string{"SIGTERM"}}), giveUp(backoff.Rule{Signals: []string{"SIGKILL", "SIGTERM"}})}}, nil},
		{"a restart after longer runs than a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{RanAtLeast: time.Second}), giveUp(backoff.Rule{RanLessThan: time.Second})}}, []string{
			"restartPolicyRules[0]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},
		{"a restart after the longest run before a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{RanAtLeast: time.Second}), giveUp(backoff.Rule{RanLessThan: time.Second + 1})}}, nil},
		{"a restart before a give-up", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(42)}), giveUp(backoff.Rule{MinFailures: 5})}}, nil},
		{"a restart with a name", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{Name: "busy", ExitCodes: in(42)})}}, nil},
		{"a restart with a delay", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(42), Delay: &curve})}}, nil},
		{"a restart of a success", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(0)})}}, nil},
		{"a restart of a failure", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: notIn(0)})}}, []string{
			"restartPolicyRules[0]: the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy (no-effect)",
		}},

		{"an uncounted restart at once", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Uncounted: true})}}, []string{
			"restartPolicyRules[0].uncounted: each of these exits restarts at once and without a limit, so a program that always ends like this loops without a pause; set delay or ranAtLeast (hot-loop)",
		}},
		{"an uncounted restart after a delay", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Uncounted: true, Delay: fixed(time.Second)})}}, nil},
		{"restarts at once", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce})}}, []string{
			"restartPolicyRules[0].delay.freeFailures: so many of these exits in a row restart at once and without a limit that a program that always ends like this loops without a pause; set limit or ranAtLeast (hot-loop)",
		}},
		{"restarts at once with a limit", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce, Limit: 5, Window: time.Hour})}}, nil},
		{"restarts at once with a limit in a row", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnceInARow, Limit: 5})}}, nil},
		{"restarts at once with a limit that every run starts over", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce, Limit: 5})}}, []string{
			"restartPolicyRules[0].delay.resetAfter: each run longer than 2ns starts the count of the limit over, so a program that always ends like this restarts at once for ever; set delay.resetAfter or window (hot-loop)",
		}},
		{"restarts at once with retries", backoff.ExitPolicy{Retries: 3, Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce})}}, nil},
		{"restarts at once until a rule gives up", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 4}), restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce})}}, nil},
		{"restarts at once beside a rule that gives up after others", backoff.ExitPolicy{Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: in(1), MinFailures: 4}), restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce})}}, []string{
			"restartPolicyRules[1].delay.freeFailures: so many of these exits in a row restart at once and without a limit that a program that always ends like this loops without a pause; set limit or ranAtLeast (hot-loop)",
		}},
		{"restarts at once with the policy's limit", backoff.ExitPolicy{Limit: 5, Window: time.Hour, Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce})}}, nil},
		{"restarts of a run at once", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Delay: atOnce, RanAtLeast: time.Minute})}}, nil},
		{"an uncounted restart of a run", backoff.ExitPolicy{Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(75), Uncounted: true, RanAtLeast: time.Minute})}}, nil},

		{"more failures than are restarted", backoff.ExitPolicy{Retries: 3, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 5})}}, []string{
			"restartPolicyRules[0].minFailures: retries of 3 gives up at failure 4 in a row, so none is ever number 5; lower minFailures (unreachable)",
		}},
		{"the failure that gives up", backoff.ExitPolicy{Retries: 3, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 4})}}, nil},
		{"failures after a give-up that ends", backoff.ExitPolicy{Retries: 3, GiveUpFor: time.Hour, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 5})}}, nil},
		{"a restart of the failure that gives up", backoff.ExitPolicy{Retries: 3, Rules: []backoff.Rule{restart(backoff.Rule{MinFailures: 4, Delay: &curve})}}, []string{
			"restartPolicyRules[0].minFailures: retries of 3 gives up from failure 4 in a row on, so this rule never restarts; lower minFailures (no-effect)",
		}},
		{"a restart after a give-up that ends", backoff.ExitPolicy{Retries: 3, GiveUpFor: time.Hour, Rules: []backoff.Rule{restart(backoff.Rule{MinFailures: 9, Delay: &curve})}}, []string{
			"restartPolicyRules[0].minFailures: retries of 3 gives up from failure 4 in a row on, so this rule never restarts; lower minFailures (no-effect)",
		}},
		{"a restart of the last failure", backoff.ExitPolicy{Retries: 3, Rules: []backoff.Rule{restart(backoff.Rule{MinFailures: 3, Delay: &curve})}}, nil},
		{"an uncounted restart of the failure that gives up", backoff.ExitPolicy{Retries: 3, Rules: []backoff.Rule{restart(backoff.Rule{MinFailures: 4, Uncounted: true, Delay: &curve})}}, nil},
		{"the limit as the number of failures", backoff.ExitPolicy{Limit: 3, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 5})}}, []string{
			"restartPolicyRules[0].minFailures: limit of 3 gives up at failure 4 in a row, so none is ever number 5; lower minFailures (unreachable)",
		}},
		{"a limit that a rule does not share", backoff.ExitPolicy{Limit: 3, Rules: []backoff.Rule{limited, giveUp(backoff.Rule{MinFailures: 5})}}, nil},
		{"a limit with a window", backoff.ExitPolicy{Limit: 3, Window: time.Hour, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 5})}}, nil},
		{"a second failure without a restart", backoff.ExitPolicy{RestartPolicy: never, Rules: []backoff.Rule{restart(backoff.Rule{MinFailures: 2})}}, []string{
			"restartPolicyRules[0].minFailures: nothing restarts after a first failure, so none is ever number 2 in a row; lower minFailures, or add a rule that restarts earlier (unreachable)",
		}},
		{"a second failure after a rule", backoff.ExitPolicy{RestartPolicy: never, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 2}), restart(backoff.Rule{ExitCodes: in(1)})}}, nil},

		{"delays as long as the window", backoff.ExitPolicy{Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: fixed(time.Minute), Limit: 2, Window: time.Minute}),
		}}, []string{
			"restartPolicyRules[0].window: restarts are at least 1m0s apart, so the limit of 2 is never used up in 1m0s; make the window longer (delay-too-long)",
		}},
		{"delays within the window", backoff.ExitPolicy{Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: fixed(time.Minute), Limit: 2, Window: 2 * time.Minute}),
		}}, []string{
			"restartPolicyRules[0].limit: restarts 1 and 3 would be at least 2m0s apart, so the limit of 2 is never used up in 2m0s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"a window that is just long enough", backoff.ExitPolicy{Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: fixed(time.Minute), Limit: 2, Window: 2*time.Minute + 1}),
		}}, nil},
		{"jitter", backoff.ExitPolicy{Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &backoff.Policy{Initial: time.Minute, Max: time.Minute, Jitter: 0.5}, Limit: 2, Window: time.Minute + 1}),
		}}, nil},
		{"runs as long as the window", backoff.ExitPolicy{Rules: []backoff.Rule{
			restart(backoff.Rule{RanAtLeast: time.Minute, Limit: 1, Window: time.Minute}),
		}}, []string{
			"restartPolicyRules[0].window: restarts are at least 1m10s apart, so the limit of 1 is never used up in 1m0s; make the window longer (delay-too-long)",
		}},
		{"delays from the third failure on", backoff.ExitPolicy{Delay: &curve, Rules: []backoff.Rule{
			restart(backoff.Rule{MinFailures: 3, Limit: 2, Window: 8 * time.Second}),
		}}, []string{
			"restartPolicyRules[0].limit: restarts 1 and 3 would be at least 8s apart, so the limit of 2 is never used up in 8s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"long runs are faster than long delays", backoff.ExitPolicy{Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &backoff.Policy{Initial: time.Second, Max: time.Hour, Factor: 60, ResetAfter: time.Second}, Limit: 3, Window: 5 * time.Second}),
		}}, []string{
			"restartPolicyRules[0].limit: restarts 1 and 4 would be at least 5.000000002s apart, so the limit of 3 is never used up in 5s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"the policy's limit", backoff.ExitPolicy{Limit: 5, Window: time.Minute}, []string{
			"limit: restarts 1 and 6 would be at least 5m10s apart, so the limit of 5 is never used up in 1m0s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"the policy's window", backoff.ExitPolicy{Limit: 1, Window: 10 * time.Second}, []string{
			"window: restarts are at least 10s apart, so the limit of 1 is never used up in 10s; make the window longer (delay-too-long)",
		}},
		{"the policy's limit and two curves", backoff.ExitPolicy{Delay: &curve, Limit: 4, Window: 7 * time.Second, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &curve}), // 1s, 1s, 2s, 2s
		}}, nil},
		{"the policy's limit and two curves in a shorter window", backoff.ExitPolicy{Delay: &curve, Limit: 4, Window: 6 * time.Second, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &curve}),
		}}, []string{
			"limit: restarts 1 and 5 would be at least 6s apart, so the limit of 4 is never used up in 6s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"a rule with a limit of its own does not count", backoff.ExitPolicy{Delay: &curve, Limit: 2, Window: 3 * time.Second, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &curve, Limit: 3}),
		}}, []string{
			"limit: restarts 1 and 3 would be at least 3s apart, so the limit of 2 is never used up in 3s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"the policy's limit and rules for few and many failures", backoff.ExitPolicy{RestartPolicy: never, Delay: &curve, Limit: 2, Window: 8 * time.Second, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1)}), restart(backoff.Rule{ExitCodes: in(2), MinFailures: 3}),
		}}, nil},

		{"a limit above retries", backoff.ExitPolicy{Limit: 6, Retries: 5, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Limit: 7}),
		}}, []string{
			"restartPolicyRules[0].limit: retries gives up after 5 failures in a row, so the limit of 7 is never used up; lower it, or remove it (limit-never-hit)",
			"limit: retries gives up after 5 failures in a row, so the limit of 6 is never used up; lower it, or remove it (limit-never-hit)",
		}},
		{"a limit above one retry", backoff.ExitPolicy{Limit: 2, Retries: 1}, []string{
			"limit: retries gives up after 1 failure in a row, so the limit of 2 is never used up; lower it, or remove it (limit-never-hit)",
		}},
		{"a limit of as many", backoff.ExitPolicy{Limit: 5, Retries: 5}, nil},
		{"a limit that starts over later", backoff.ExitPolicy{Delay: &curve, Retries: 5, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &backoff.Policy{Initial: time.Second, Max: time.Minute}, Limit: 7}),
		}}, nil},
		{"retries above the limit", backoff.ExitPolicy{Limit: 5, Retries: 6}, []string{
			"retries: the limit of 5 is always used up before 6 failures in a row; lower retries, or remove it (limit-never-hit)",
		}},
		{"retries above the limit of a day", backoff.ExitPolicy{Limit: 5, Window: 24 * time.Hour, Retries: 6}, []string{
			"retries: the limit of 5 is always used up before 6 failures in a row; lower retries, or remove it (limit-never-hit)",
		}},
		{"retries with slow failures", backoff.ExitPolicy{Limit: 5, Window: 5 * 15 * time.Minute, Retries: 6}, nil},
		{"retries with pauses", backoff.ExitPolicy{Limit: 5, Window: 24 * time.Hour, Retries: 6, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(75), Uncounted: true, Delay: fixed(time.Hour)}),
		}}, nil},
		{"retries with a rule's own limit", backoff.ExitPolicy{Limit: 5, Retries: 6, Rules: []backoff.Rule{limited}}, nil},
		{"retries asks for long runs", backoff.ExitPolicy{Delay: &curve, Limit: 4, Window: 12 * time.Second, Retries: 2}, []string{
			"limit: restarts 1 and 5 would be at least 14.000000001s apart with a long run after every 2 failures, because of retries, so the limit of 4 is never used up in 12s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"one retry asks for long runs", backoff.ExitPolicy{Delay: &curve, Limit: 4, Window: 12 * time.Second, Retries: 1}, []string{
			"limit: restarts 1 and 5 would be at least 28.000000003s apart with a long run after every failure, because of retries, so the limit of 4 is never used up in 12s; lower it, or make the window longer (limit-never-hit)",
		}},
		{"retries and a longer window", backoff.ExitPolicy{Delay: &curve, Limit: 4, Window: 15 * time.Second, Retries: 2}, nil},
		{"retries starts over before the curve of a rule", backoff.ExitPolicy{Delay: &curve, Retries: 2, Rules: []backoff.Rule{
			restart(backoff.Rule{ExitCodes: in(1), Delay: &backoff.Policy{Initial: time.Second, Max: time.Second, ResetAfter: time.Minute}, Limit: 4, Window: 13 * time.Second}),
		}}, nil},

		{"limits that nothing counts toward", backoff.ExitPolicy{RestartPolicy: never, Limit: 3, Retries: 4, GiveUpFor: time.Hour, Rules: []backoff.Rule{failed}}, []string{
			"limit: no restart counts as a failure, so the limit is never used up; remove it (no-effect)",
			"retries: no restart counts as a failure, so there are never 4 in a row; remove it (no-effect)",
		}},
		{"limits behind a rule for all exits", backoff.ExitPolicy{Limit: 3, Rules: []backoff.Rule{giveUp(backoff.Rule{MinFailures: 1})}}, []string{
			"limit: no restart counts as a failure, so the limit is never used up; remove it (no-effect)",
		}},
		{"limits behind a rule for all failures", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Retries: 3, Rules: []backoff.Rule{giveUp(backoff.Rule{ExitCodes: notIn(0)})}}, []string{
			"retries: no restart counts as a failure, so there are never 3 in a row; remove it (no-effect)",
		}},
		{"limits of a rule", backoff.ExitPolicy{RestartPolicy: never, Limit: 3, Rules: []backoff.Rule{limited}}, []string{
			"limit: every rule that restarts has a limit of its own, and their restarts do not count toward this one; remove it (no-effect)",
		}},
		{"a limit that one rule shares", backoff.ExitPolicy{RestartPolicy: never, Limit: 3, Rules: []backoff.Rule{limited, restart(backoff.Rule{ExitCodes: in(2)})}}, nil},

		{"the end of a give-up without a limit", backoff.ExitPolicy{GiveUpFor: time.Hour, Rules: []backoff.Rule{failed}}, []string{
			"giveUpFor: nothing gives up by a limit, and the action GiveUp of a rule does not end; add a limit, or remove giveUpFor (no-effect)",
		}},
		{"the end of a rule's give-up", backoff.ExitPolicy{GiveUpFor: time.Hour, Rules: []backoff.Rule{limited}}, nil},
		{"a give-up shorter than the delay before it", backoff.ExitPolicy{Retries: 4, GiveUpFor: 79 * time.Second}, []string{
			"giveUpFor: a give-up ends after 1m19s, but the delay before it is at least 1m20s; make giveUpFor longer (give-up-too-short)",
		}},
		{"a give-up as long as the delay before it", backoff.ExitPolicy{Retries: 4, GiveUpFor: 80 * time.Second}, nil},
		{"a give-up after a curve of a rule", backoff.ExitPolicy{Retries: 4, GiveUpFor: time.Second, Rules: []backoff.Rule{restart(backoff.Rule{ExitCodes: in(1), Delay: fixed(time.Second)})}}, nil},
		{"a give-up after the limit of a rule", backoff.ExitPolicy{Retries: 4, GiveUpFor: 79 * time.Second, Rules: []backoff.Rule{limited}}, nil},
		{"a give-up shorter than each delay", backoff.ExitPolicy{Limit: 4, GiveUpFor: 9 * time.Second}, []string{
			"giveUpFor: a give-up ends after 9s, but the delay before it is at least 10s; make giveUpFor longer (give-up-too-short)",
		}},
		{"a give-up as long as the first delay", backoff.ExitPolicy{Limit: 4, GiveUpFor: 10 * time.Second}, nil},
	} {
		if err := tt.policy.Validate(); (err != nil) != (tt.name == "an invalid policy") {
			t.Errorf("%s: %v", tt.name, err)
		}
		var got []string
		for _, f := range Check(tt.policy) {
			got = append(got, f.String())
			if (f.Rule >= 0) != strings.HasPrefix(f.Field, "restartPolicyRules") {
				t.Errorf("%s: rule %d, field %s", tt.name, f.Rule, f.Field)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Check takes a policy with the most rules and the longest lists. No rule hides another.
func TestLargestPolicy(t *testing.T) {
	p := backoff.ExitPolicy{Limit: 1000, Window: time.Hour, Retries: 999}
	for i := range 20 {
		r := restart(backoff.Rule{
			ExitCodes:   notIn(),
			MinFailures: 40 - i,
			Delay:       &backoff.Policy{Initial: 1, Max: never, Factor: 1.5},
			Limit:       1000 - i%2*999, Window: 1000 * time.Hour,
		})
		for k := range 255 {
			r.ExitCodes.Values = append(r.ExitCodes.Values, int32(i*k))
			r.Reasons = append(r.Reasons, fmt.Sprint("R", k+i))
		}
		for n := range 62 {
			r.Signals = append(r.Signals, fmt.Sprint("SIGRTMIN+", n+1))
		}
		r.Signals = r.Signals[:15]
		p.Rules = append(p.Rules, r)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, f := range Check(p) {
		if f.Kind == KindUnreachable {
			t.Error(f)
		}
	}
}

// The least time stays in bounds, whatever the delays and runs are.
func TestTimesSaturate(t *testing.T) {
	r := restart(backoff.Rule{ExitCodes: in(1), RanAtLeast: never - 1, Delay: &backoff.Policy{Initial: never, Max: never}, Limit: 1000, Window: never})
	p := backoff.ExitPolicy{Rules: []backoff.Rule{r}}
	if got := newChecker(&p).fastest([]*backoff.Rule{&r}, 1000, 0); got != never {
		t.Errorf("fastest is %v", got)
	}
	for _, d := range []time.Duration{add(never, 0), add(never, 1), add(never/2+1, never/2+1), add(1, never), times(never, 1), times(never/2+1, 2)} {
		if d != never {
			t.Errorf("%v is not the largest", d)
		}
	}
	if d := times(never, 0); d != 0 {
		t.Errorf("no time at all is %v", d)
	}
}
