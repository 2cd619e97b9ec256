package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/flags"
)

// options are the flags and the file, checked.
type options struct {
	config
	resolution backoff.Resolution // of the node's curve
	state      string             // folder, or ""
	limit      time.Duration      // how long to run; 0: for ever
	explain    bool
	colours    bool // of the commands are kept
	warnings   []string
	hint       bool // the mistake is one of usage
}

// flagValues are the flags as given.
type flagValues struct {
	given              map[string]bool // names of those that were
	file, name, policy string
	reduced            bool
	maxPeriod, grace   time.Duration
	rate               float64
	burst              int
	args               []string // after --
}

// parseOptions reads the flags and the file. The warnings are there in any case.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := &options{config: config{grace: defaultGrace, called: make(map[string]string)}, hint: true}
	var v flagValues
	flags := flags.New("supervise", usage)
	flags.StringVar(&v.file, "f", "", "`file` with commands and settings")
	flags.StringVar(&v.name, "name", "", "`name` of the command after -- (default: that of its program)")
	flags.StringVar(&v.policy, "restart-policy", "Always", "restart `policy` of the command after --: Always, OnFailure or Never\n")
	flags.BoolVar(&v.reduced, "reduced", false, "delays from 1s to 60s instead of 10s to 300s")
	flags.DurationVar(&v.maxPeriod, "max-period", 0, "longest `delay`, from 1s to 300s; a first delay above it becomes as short")
	flags.Float64Var(&v.rate, "rate", 0, "most `restarts` per second, all commands together (default: any number)")
	flags.IntVar(&v.burst, "burst", 1, "`restarts` that -rate lets happen at once")
	flags.DurationVar(&v.grace, "grace", defaultGrace, "`time` between SIGTERM and SIGKILL")
	flags.StringVar(&o.state, "state", "", "`folder` that remembers failures and waits for the next supervise")
	flags.DurationVar(&o.limit, "for", 0, "`time` after which to end (default: never)")
	flags.BoolVar(&o.explain, "explain", false, "say after each exit what follows from it, and why")
	flags.BoolVar(&o.colours, "colours", false, "keep the colours in what the commands write; all other control\ncharacters are shown as \\x1b and the like")
	err := flags.Parse(args, stdout)
	if err != nil {
		return o, err
	}
	v.given, v.args = flags.Given(), flags.Args()
	if v.file != "" {
		if o.warnings, err = o.readFile(v.file); err != nil {
			o.hint = false
			return o, err
		}
	}
	if err := v.check(o); err != nil {
		return o, err
	}
	return o, o.apply(&v)
}

// check reports the first flag that is out of bounds.
func (v *flagValues) check(o *options) error {
	switch {
	case v.given["max-period"] && !inRange(v.maxPeriod):
		return fmt.Errorf("-max-period %v: must be in [1s, 300s]", v.maxPeriod)
	case v.given["rate"] && !(v.rate > 0 && v.rate <= math.MaxFloat64): // NaN too
		return fmt.Errorf("-rate %v: must be above 0", v.rate)
	case v.burst < 1:
		return fmt.Errorf("-burst %d: must be at least 1", v.burst)
	case v.grace < 0:
		return fmt.Errorf("-grace %v: must not be below 0", v.grace)
	case v.given["for"] && o.limit <= 0:
		return fmt.Errorf("-for %v: must be above 0", o.limit)
	case v.given["state"] && o.state == "":
		return errors.New("-state: the folder has no name")
	case len(v.args) == 0 && (v.given["name"] || v.given["restart-policy"]):
		return errors.New("-name and -restart-policy are for the command after --, there is none")
	}
	return nil
}

// inRange reports whether a node's maximum can be that.
func inRange(d time.Duration) bool {
	_, err := backoff.CrashLoopConfig{AllowMax: true, Max: &d}.Resolve()
	return err == nil
}

// apply puts the flags over what the file says.
func (o *options) apply(v *flagValues) error {
	if v.given["reduced"] {
		o.node.ReduceDefault, o.called[settingReduce] = v.reduced, "-reduced"
	}
	if v.given["max-period"] {
		o.node.Max, o.node.AllowMax, o.called[settingMax] = &v.maxPeriod, true, "-max-period"
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

// command is the one after --.
func (v *flagValues) command() (command, error) {
	c := command{name: v.name, args: v.args, policy: backoff.ContainerPolicy{RestartPolicy: backoff.RestartPolicy(v.policy)}}
	if !v.given["name"] {
		c.name = nameOf(v.args)
	}
	switch {
	case v.args[0] == "":
		return c, errors.New("the command after -- is empty")
	case !validName(c.name):
		return c, fmt.Errorf("-name %s: must be 1 to %d letters, digits, hyphens, dots and underscores", c.name, longestName)
	case v.policy == "" || c.policy.Validate() != nil:
		return c, fmt.Errorf("-restart-policy %s: must be Always, OnFailure or Never", v.policy)
	}
	return c, nil
}
