package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/picture"
)

// preset is the backoff of a system, under its name. A system whose backoff a Policy
// cannot say exactly is refused, and not approximated. Rounding to the unit that a
// system counts in is no difference.
type preset struct {
	name    string
	says    string // the curve, and the settings that are needed to make it exact
	source  string
	policy  func() backoff.Policy
	refused string // why there is no policy
}

// never is a reset threshold that no run reaches.
const never = time.Duration(math.MaxInt64)

func presets() []preset {
	return []preset{
		{
			name: "kubelet", says: "10s doubled up to 5m, over after a run of 10m",
			source: "KEP-4603, Summary",
			policy: backoff.CrashLoop,
		}, {
			name: "kubelet-reduced", says: "1s doubled up to 1m, over after a run of 10m",
			source: "KEP-4603, gate ReduceDefaultCrashLoopBackOffDecay",
			policy: backoff.ReducedCrashLoop,
		}, {
			// Only a success of the Job ends the row of failures, a long run does not.
			name: "job", says: "10s doubled up to 10m, never over by a long run",
			source: "KEP-3850; Kubernetes, job_controller.go",
			policy: func() backoff.Policy {
				p := backoff.JobPod()
				p.ResetAfter = never
				return p
			},
		}, {
			name: "imagepull", says: "10s doubled up to 5m, over after 10m",
			source: "KEP-4603, Relationship with ImagePullBackOff",
			policy: backoff.ImagePull,
		}, {
			// A run of 10s itself is enough.
			name: "docker", says: "100ms doubled up to 1m, over after a run of 10s",
			source: "moby, restartmanager/restartmanager.go",
			policy: func() backoff.Policy {
				return backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute, ResetAfter: 10*second - 1}
			},
		}, {
			// Without RestartSteps the delay is the same each time. A long run changes
			// nothing: only a start by hand sets the counter of restarts back.
			name: "systemd", says: "always 100ms; RestartSec=1s, RestartSteps=5 and\nRestartMaxDelaySec=1m change that: r_i = r_0 (r_n/r_0)^(i/n);\nwith StartLimitIntervalSec=0, else it gives up",
			source: "systemd.service(5); src/core/service.c",
			policy: func() backoff.Policy {
				return backoff.Policy{Initial: 100 * time.Millisecond, Max: 100 * time.Millisecond, Factor: 1, ResetAfter: never}
			},
		}, {
			// The defaults since 1.19 (FLINK-33736). A run of one hour itself is enough.
			name: "flink", says: "1s times 1.5 up to 1m, over after a run of 1h;\nwith jitter-factor: 0, for it goes both ways",
			source: "Flink 1.19, exponential-delay restart strategy",
			policy: func() backoff.Policy {
				return backoff.Policy{Initial: second, Max: minute, Factor: 1.5, ResetAfter: hour - 1}
			},
		}, {
			name:    "nomad",
			source:  "Nomad, job specification, restart block",
			refused: "the restart block counts attempts within an interval, and then gives up or waits for its end; a policy has no such limit",
		}, {
			name:    "pm2",
			source:  "pm2, lib/God.js and lib/Worker.js",
			refused: "1.5x up to 15s, but a worker that looks every 30s decides when it is over, so that runs of 30s to 60s sometimes end it and sometimes do not",
		}, {
			name:    "supervisord",
			source:  "supervisor, process.py",
			refused: "its delays grow by 1s each, and it gives up after startretries; a policy multiplies, and never gives up",
		},
	}
}

// presetNames returns the names of presets that have a policy.
func presetNames() string {
	var names []string
	for _, p := range presets() {
		if p.policy != nil {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, ", ")
}

// presetHelp describes the presets for the help text.
func presetHelp() string {
	const indent = "\n                   "
	var b strings.Builder
	for _, p := range presets() {
		says := p.says
		if p.policy == nil {
			says = wrap("refused: "+p.refused, 58)
		}
		text := strings.ReplaceAll(says+"\n("+p.source+")", "\n", indent)
		fmt.Fprintf(&b, "  %-15s  %s\n", p.name, text)
	}
	return b.String()
}

// wrap breaks a text into lines.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// parsePreset returns the policy of a preset, and whether there is one of that name.
func parsePreset(name string) (p backoff.Policy, found bool, err error) {
	all := presets()
	i := slices.IndexFunc(all, func(p preset) bool { return p.name == name })
	switch {
	case i < 0:
		return p, false, nil
	case all[i].policy == nil:
		return p, true, fmt.Errorf("%s cannot be said exactly: %s", name, all[i].refused)
	}
	return all[i].policy(), true, nil
}

// unit is what a systemd unit sets.
type unit struct {
	restart, longest time.Duration // RestartSec, RestartMaxDelaySec; 0: not set
	steps            int           // RestartSteps; 0: not set
}

const mostSteppedRestarts = 1000

// set reads one setting, and reports whether there is one of that name.
func (u *unit) set(key, value string) (found bool, err error) {
	switch key {
	case "RestartSec":
		u.restart, err = parseDelay(value)
	case "RestartMaxDelaySec":
		u.longest, err = parseDelay(value)
	case "RestartSteps":
		u.steps, err = strconv.Atoi(value)
		if err != nil || u.steps < 1 || u.steps > mostSteppedRestarts {
			err = fmt.Errorf("%q is not a whole number in 1..%d", value, mostSteppedRestarts)
		}
	default:
		return false, nil
	}
	return true, err
}

// apply changes a policy into that of the unit. The i-th of n steps between the delays
// r_0 and r_n is r_0 (r_n/r_0)^(i/n), so each is (r_n/r_0)^(1/n) times the one before.
func (u unit) apply(p backoff.Policy) (backoff.Policy, error) {
	if u == (unit{}) {
		return p, nil
	}
	if u.restart != 0 {
		p.Initial = u.restart
	}
	p.Max = p.Initial
	switch {
	case (u.steps == 0) != (u.longest == 0):
		return p, errors.New("RestartSteps and RestartMaxDelaySec do nothing without each other")
	case u.steps == 0:
		return p, nil
	case u.longest <= p.Initial:
		return p, fmt.Errorf("RestartMaxDelaySec %s is not above RestartSec %s", picture.Duration(u.longest), picture.Duration(p.Initial))
	}
	p.Max = u.longest
	p.Factor = math.Pow(float64(u.longest)/float64(p.Initial), 1/float64(u.steps))
	if p.Factor < leastFactor {
		return p, fmt.Errorf("RestartSteps %d: each step is less than %v times the one before", u.steps, leastFactor)
	}
	return p, nil
}
