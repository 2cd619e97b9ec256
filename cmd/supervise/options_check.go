package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/policyfile"
)

// check returns an error for the first flag out of bounds.
func (v *flagValues) check(o *options) error {
	switch {
	case v.given["max-period"] && !policyfile.InRange(v.maxPeriod):
		return fmt.Errorf("-max-period %v: must be in [1s, 300s]", v.maxPeriod)
	case v.given["rate"] && !policyfile.ValidRate(v.rate):
		return fmt.Errorf("-rate %v: must be above 0", v.rate)
	case v.burst < 1:
		return fmt.Errorf("-burst %d: must be at least 1", v.burst)
	case v.grace < 0:
		return fmt.Errorf("-grace %v: must not be below 0", v.grace)
	case v.given["for"] && o.limit <= 0:
		return fmt.Errorf("-for %v: must be above 0", o.limit)
	case v.given["state"] && o.state == "":
		return errors.New("-state: the folder has no name")
	case v.given["events"] && o.events == "":
		return errors.New("-events: the file has no name")
	case len(v.args) == 0 && (v.given["name"] || v.given["restart-policy"]):
		return errors.New("-name and -restart-policy need a command after --")
	}
	return nil
}

// apply overrides the file's settings with the flags.
func (o *options) apply(v *flagValues) error {
	if v.given["reduced"] {
		o.node.ReduceDefault, o.called[policyfile.Reduce] = v.reduced, "-reduced"
	}
	if v.given["max-period"] {
		o.node.Max, o.node.AllowMax, o.called[policyfile.Max] = &v.maxPeriod, true, "-max-period"
	}
	if v.given["rate"] {
		o.rate = v.rate
	}
	if v.given["burst"] {
		o.burst = v.burst
	}
	if v.given["grace"] {
		o.grace = v.grace
	}
	switch {
	case o.rate != 0 || o.burst == 0:
	case v.given["burst"]:
		return fmt.Errorf("-burst %d has no effect without -rate", o.burst)
	default:
		return fmt.Errorf("%s: burst %d has no effect without a rate", v.file, o.burst)
	}
	if len(v.args) > 0 {
		c, err := v.command()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(o.commands, func(other command) bool { return other.name == c.name }) {
			return fmt.Errorf("two commands are named %s: give the one after -- another -name", c.name)
		}
		o.commands = append(o.commands, c)
	}
	if len(o.commands) == 0 {
		return errors.New("no command: write it after --, or commands into the file of -f")
	}
	var err error
	o.resolution, err = o.node.Resolve()
	return err
}

// command returns the command after --.
func (v *flagValues) command() (command, error) {
	c := command{name: v.name, args: v.args, policy: backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicy(v.policy)}}
	if !v.given["name"] {
		c.name = nameOf(v.args)
	}
	switch {
	case v.args[0] == "":
		return c, errors.New("the command after -- is empty")
	case v.file == "" && len(v.args) == 1 && isSettings(v.args[0]):
		return c, fmt.Errorf("%s is not a program; if it is a file of commands, write -f %s", v.args[0], v.args[0])
	case !validName(c.name):
		return c, fmt.Errorf("-name %q: must be 1 to %d letters, digits, hyphens, dots and underscores", c.name, longestName)
	case v.policy == "" || c.policy.Validate() != nil:
		return c, fmt.Errorf("-restart-policy %s: must be Always, OnFailure or Never", v.policy)
	}
	return c, nil
}

// isSettings reports whether a file looks like one for -f and cannot be executed.
func isSettings(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0 &&
		slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}
