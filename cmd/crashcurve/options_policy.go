package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// namedPolicy is one -policy flag.
type namedPolicy struct {
	chart.Curve                // without pods
	text        string         // as given, without the name
	run         *time.Duration // length of its runs; nil means -run
}

// parsePolicy parses [NAME=]CURVE[,OPTION=VALUE]...
func parsePolicy(s string) (namedPolicy, error) {
	words := strings.Split(s, ",")
	var p namedPolicy
	name, base, named := strings.Cut(words[0], "=")
	if !named {
		name, base = s, words[0]
		if terminal.Width(name) > preset.LongestName {
			name = base
		}
	}
	p.Name, p.text = strings.TrimSpace(name), strings.TrimPrefix(s, words[0][:len(words[0])-len(base)])
	switch {
	case p.Name == "":
		return p, errors.New("the name is empty")
	case terminal.Escape(p.Name) != p.Name || strings.Contains(p.Name, "\t"):
		return p, errors.New("the name has characters that cannot be printed")
	case terminal.Width(p.Name) > preset.LongestName:
		return p, fmt.Errorf("the name is longer than %d letters", preset.LongestName)
	}
	known, err := parseBase(base)
	if err != nil {
		return p, err
	}
	p.Policy, p.Limit, p.Outside = known.Policy, known.Limit, known.Outside
	if err := p.setAll(base, words[1:]); err != nil {
		return p, err
	}
	return p, p.Policy.Validate()
}

// setAll applies the options. A systemd unit's settings come first, in any order, so
// that they cannot undo the others.
func (p *namedPolicy) setAll(base string, options []string) error {
	var u unit
	var others [][2]string
	for _, option := range options {
		key, value, ok := strings.Cut(option, "=")
		if !ok {
			return fmt.Errorf("option %q is not NAME=VALUE", option)
		}
		if base == "systemd" {
			found, err := u.set(key, value)
			if err != nil {
				return fmt.Errorf("option %s: %w", key, err)
			}
			if found {
				continue
			}
		}
		others = append(others, [2]string{key, value})
	}
	var err error
	if p.Policy, err = u.apply(p.Policy); err != nil {
		return err
	}
	p.Limit = u.limit(p.Limit)
	for _, o := range others {
		if err := p.set(o[0], o[1]); err != nil {
			return fmt.Errorf("option %s: %w", o[0], err)
		}
	}
	return nil
}

// parseBase parses a preset's name or INITIAL/MAX.
func parseBase(s string) (known preset.Preset, err error) {
	if known, found, err := parsePreset(s); found {
		return known, err
	}
	initial, longest, ok := strings.Cut(s, "/")
	if !ok {
		return known, fmt.Errorf("%q is neither a preset (%s) nor INITIAL/MAX such as 1s/60s", s, presetNames())
	}
	p := &known.Policy
	if p.Initial, err = preset.Duration(initial, preset.ShortestDelay); err != nil {
		return known, err
	}
	if p.Max, err = preset.Duration(longest, preset.ShortestDelay); err != nil {
		return known, err
	}
	if p.Max < p.Initial {
		return known, fmt.Errorf("MAX %s is below INITIAL %s", longest, initial)
	}
	p.ResetAfter = backoff.CrashLoop().ResetAfter // as in KEP-4603 for every curve
	return known, nil
}

// mostFree is the upper bound of free restarts, which are counted one by one.
const mostFree = 1000

// set applies one option.
func (p *namedPolicy) set(key, value string) error {
	switch key {
	case "max":
		d, err := preset.Duration(value, preset.ShortestDelay)
		p.Policy = p.Policy.WithMax(d)
		return err
	case "factor":
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || f != 1 && !(f >= preset.LeastFactor) || math.IsInf(f, 1) {
			return fmt.Errorf("%q is not 1 or a number from %v on", value, preset.LeastFactor)
		}
		p.Policy.Factor = f
	case "free":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > mostFree {
			return fmt.Errorf("%q is not a whole number in 0..%d", value, mostFree)
		}
		p.Policy.FreeFailures = n
	case "reset", "run":
		d, err := preset.Duration(value, 0)
		if key == "reset" && err == nil && d == 0 {
			return fmt.Errorf("%s is not above 0; without reset the preset's applies, or %s", value, picture.Duration(backoff.CrashLoop().ResetAfter))
		}
		if key == "run" {
			p.run = &d
		} else {
			p.Policy.ResetAfter = d
		}
		return err
	default:
		return errors.New("unknown; must be max, factor, free, reset or run")
	}
	return nil
}
