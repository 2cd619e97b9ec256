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
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// presetNames returns the names of the presets with a policy.
func presetNames() string {
	var names []string
	for _, p := range preset.All() {
		if p.Refused == "" {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, ", ")
}

// presetHelp describes the presets for the help text.
func presetHelp() string {
	const indent = "\n                   "
	var b strings.Builder
	for _, p := range preset.All() {
		text := p.Text
		if p.Refused != "" {
			text = "refused: " + p.Refused
		}
		text = strings.ReplaceAll(text+"\n("+p.Source+")", "\n", indent)
		fmt.Fprintf(&b, "  %-15s  %s\n", p.Name, text)
	}
	return b.String()
}

// parsePreset returns the named preset and reports whether it exists. It returns an
// error if a policy cannot express the preset.
func parsePreset(name string) (p preset.Preset, found bool, err error) {
	all := preset.All()
	i := slices.IndexFunc(all, func(p preset.Preset) bool { return p.Name == name })
	switch {
	case i < 0:
		return p, false, nil
	case all[i].Refused != "":
		return p, true, fmt.Errorf("%s cannot be expressed exactly: %s", name, strings.ReplaceAll(all[i].Refused, "\n", " "))
	}
	return all[i], true, nil
}

// unit holds the settings of a systemd unit.
type unit struct {
	restart, longest time.Duration  // RestartSec, RestartMaxDelaySec; 0 if not set
	steps            int            // RestartSteps; 0 if not set
	burst            *int           // StartLimitBurst; 0 means no limit
	within           *time.Duration // StartLimitIntervalSec; 0 means no limit
}

const mostSteppedRestarts = 1000

// set parses one setting. It reports whether the key names a setting.
func (u *unit) set(key, value string) (found bool, err error) {
	switch key {
	case "RestartSec":
		u.restart, err = preset.Duration(value, preset.ShortestDelay)
	case "RestartMaxDelaySec":
		u.longest, err = preset.Duration(value, preset.ShortestDelay)
	case "RestartSteps":
		u.steps, err = strconv.Atoi(value)
		if err != nil || u.steps < 1 || u.steps > mostSteppedRestarts {
			err = fmt.Errorf("%q is not a whole number in 1..%d", value, mostSteppedRestarts)
		}
	case "StartLimitIntervalSec":
		var within time.Duration
		within, err = preset.Duration(value, 0)
		u.within = &within
	case "StartLimitBurst":
		var burst int
		burst, err = strconv.Atoi(value)
		if err != nil || burst < 0 || burst > preset.MostStarts {
			err = fmt.Errorf("%q is not a whole number in 0..%d", value, preset.MostStarts)
		}
		u.burst = &burst
	default:
		return false, nil
	}
	return true, err
}

// limit returns the unit's start limit, with unset values taken from l.
func (u unit) limit(l preset.StartLimit) preset.StartLimit {
	if u.burst != nil {
		l.Starts = *u.burst
	}
	if u.within != nil {
		l.Within = *u.within
	}
	if l.Starts == 0 || l.Within == 0 {
		return preset.StartLimit{}
	}
	return l
}

// apply changes a policy into the unit's. Step i of n between the delays r_0 and r_n is
// r_0 (r_n/r_0)^(i/n), so each step is (r_n/r_0)^(1/n) times the previous one.
func (u unit) apply(p backoff.Policy) (backoff.Policy, error) {
	if u.restart == 0 && u.longest == 0 && u.steps == 0 {
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
	if p.Factor < preset.LeastFactor {
		return p, fmt.Errorf("RestartSteps %d: each step is less than %v times the one before", u.steps, preset.LeastFactor)
	}
	return p, nil
}
