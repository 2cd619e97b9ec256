package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
)

// runSettings are the settings of run, from its file and flags.
type runSettings struct {
	commands []keptCommand
	policy   backoff.ExitPolicy // for what the policy of a command leaves open
	rate     float64            // starts per second of all commands; 0 means no limit
	burst    int                // starts allowed at once under rate; 0 means 1
	grace    time.Duration      // between SIGTERM and SIGKILL
	limit    time.Duration      // how long to run; 0 means no limit
	state    string             // file; "" for none
	explain  bool
	colours  bool // keep the colours of the commands' output
}

// keptCommand is a command kept running.
type keptCommand struct {
	name   string
	args   []string // the program and its arguments
	env    []string // NAME=VALUE, added to this program's environment
	dir    string
	policy backoff.ExitPolicy
}

// runFlags are flags that the settings do not hold as they are.
type runFlags struct {
	file, name, policy string
	curve              delayFlags
	rate               float64
	burst              int
	grace              time.Duration
}

func runCommand() *cobra.Command {
	var settings runSettings
	var flags runFlags
	c := &cobra.Command{
		Use:   "run [flags] [-f FILE] [-- COMMAND…]",
		Short: "Keep commands running",
		Long: `run keeps commands running as a kubelet keeps containers running. A command that
exits starts again after a delay of 10s that doubles with every exit in a row, up
to 5m; a run of more than ten minutes starts the delays over. A command that
cannot be started is tried three times and then given up. run ends when all
commands have ended. SIGINT, SIGTERM and the end of --for terminate them, and
kill them after --grace or at a second signal.

SIGHUP ends every wait. The failures of a waiting command still count. One that was
given up for a while (giveUpFor) starts without failures, and its limits start over.
What has ended or was given up for good stays so.

For several commands, or rules by exit code, write a FILE:

  commands:
  - name: web
    command: [./server, --port, "8080"]
  - name: worker
    command: [./worker]
    restartPolicy: OnFailure    # Always (default), OnFailure or Never
    restartPolicyRules:         # the first rule that matches decides
    - {action: GiveUp, exitCodes: {operator: In, values: [2]}}
    delay: {initial: 1s, max: 60s}

All fields: https://github.com/restartkit/restart/tree/main/cmd#run

With --state the next run goes on with the failures, delays and limits of this
one, also if this one is killed. On Linux the first process of each command dies
with it; on other systems it may stay, as other processes may anywhere.`,
		SuggestFor: []string{"keep", "start", "supervise", "services"},
		Annotations: map[string]string{exitCodes: `      0  all commands have ended with 0, or the time of --for is over
      1  a command was given up or has ended otherwise
      2  used wrongly; nothing was started
      3  the output or the state could not be written
  128+n  signal n has ended run`},
		Example: `  restart run -- ./server --port 8080
  restart run --preset kubelet-reduced --restart-policy OnFailure -- sh flaky.sh
  restart run -f services.yaml --state services.json --explain`,
		Args: func(c *cobra.Command, args []string) error { return argsAfterDashes(c, args) },
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.settle(c, args, &settings); err != nil {
				return err
			}
			return keepRunning(&settings, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.SetFlagErrorFunc(commandFlagError)
	f := c.Flags()
	f.SortFlags = false
	f.StringVarP(&flags.file, "file", "f", "", "`FILE` with commands and settings, or - for standard input")
	f.StringVar(&flags.name, "name", "", "`name` of the command after -- (default that of its program)")
	f.StringVar(&flags.policy, "restart-policy", "Always", "`policy` of the command after --: Always, OnFailure or Never")
	flags.curve.add(c)
	f.Float64Var(&flags.rate, "rate", 0, "most `starts` per second, of all commands together (default no limit)")
	f.IntVar(&flags.burst, "burst", 1, "`starts` that --rate allows at once")
	f.DurationVar(&flags.grace, "grace", 30*time.Second, "`time` between SIGTERM and SIGKILL")
	f.DurationVar(&settings.limit, "for", 0, "`time` to run (default no limit)")
	f.StringVar(&settings.state, "state", "", "`FILE` that keeps failures, delays and limits for the next run")
	f.BoolVar(&settings.explain, "explain", false, "print why each exit leads to what follows, with the result of every rule")
	f.BoolVar(&settings.colours, "colours", false, `keep the colours of the commands' output; other control characters are shown as \x1b and the like`)
	group(f, "Flags for commands", "file", "name", "restart-policy")
	group(f, "Flags for delays", "preset", "initial", "max", "factor", "rate", "burst")
	group(f, "Flags for the end and the state", "for", "grace", "state")
	group(f, "Flags for output", "explain", "colours")
	_ = c.RegisterFlagCompletionFunc("restart-policy", cobra.FixedCompletions([]string{"Always", "OnFailure", "Never"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// argsAfterDashes refuses arguments before --, which are usually a forgotten -f or --.
func argsAfterDashes(c *cobra.Command, args []string) error {
	before := args
	if n := c.ArgsLenAtDash(); n >= 0 {
		before = args[:n]
	}
	switch {
	case len(before) == 0:
		return nil
	case c.Flags().Lookup("file") != nil && isSettings(before[0]):
		return fmt.Errorf("%s is not a program; if it is a file of commands, write -f %[1]s", human.Escape(before[0]))
	}
	return fmt.Errorf("write the command after --, as in %s -- %s", c.CommandPath(), human.Escape(strings.Join(args, " ")))
}

// commandFlagError is flagError for verbs with a command, whose flags may be meant.
func commandFlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	meant := flagError(c, err)
	if errors.As(err, &unknown) && meant == err {
		return fmt.Errorf("%w: if it is a flag of the command, write -- before the command", err)
	}
	return meant
}

// isSettings reports whether a file looks like one for -f and cannot be executed.
func isSettings(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0 &&
		slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// settle makes the settings from the file and the flags, which come before the file.
func (f *runFlags) settle(c *cobra.Command, args []string, s *runSettings) error {
	given := c.Flags().Changed
	s.grace = f.grace
	if err := checkState(s.state, []namedFile{{"the file of -f", f.file}}); err != nil {
		return err
	}
	if given("file") {
		if err := s.readFile(f.file, c.InOrStdin()); err != nil {
			return err
		}
	}
	delay := backoff.CrashLoop()
	if s.policy.Delay != nil {
		delay = *s.policy.Delay
	}
	delay, err := f.curve.policy(c, delay)
	if err != nil {
		return err
	}
	s.policy.Delay = &delay
	if given("rate") {
		s.rate = f.rate
	}
	if given("burst") {
		s.burst = f.burst
	}
	if given("grace") {
		s.grace = f.grace
	}
	switch {
	case given("rate") && !(f.rate > 0):
		return usageError("--rate %v: must be above 0", f.rate)
	case f.burst < 1:
		return usageError("--burst %d: must be at least 1", f.burst)
	case given("burst") && s.rate == 0:
		return usageError("--burst %d: has no effect without --rate", f.burst)
	case f.grace < 0:
		return usageError("--grace %v: must not be below 0", f.grace)
	case given("for") && s.limit <= 0:
		return usageError("--for %v: must be above 0", s.limit)
	case given("state") && s.state == "":
		return usageError("--state: the file has no name")
	case len(args) == 0 && (given("name") || given("restart-policy")):
		return usageError("--name and --restart-policy need a command after --")
	case len(args) > 0:
		if err := f.addCommand(args, given("name"), s); err != nil {
			return err
		}
	}
	if len(s.commands) == 0 {
		return usageError("no command: write it after --, or commands into the file of -f")
	}
	return nil
}

// addCommand adds the command after --.
func (f *runFlags) addCommand(args []string, named bool, s *runSettings) error {
	k := keptCommand{name: f.name, args: args, policy: backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicy(f.policy)}}
	if !named {
		k.name = nameOf(args[0])
	}
	switch {
	case args[0] == "":
		return usageError("the command after -- is empty")
	case !validName(k.name):
		return usageError("--name %s: must be %s", quoted(k.name), nameRule)
	case f.policy == "" || k.policy.Validate() != nil:
		return usageError("--restart-policy %s: must be Always, OnFailure or Never", quoted(f.policy))
	case slices.ContainsFunc(s.commands, func(other keptCommand) bool { return other.name == k.name }):
		return usageError("two commands are named %s: give the one after -- another --name", k.name)
	}
	s.commands = append(s.commands, k)
	return nil
}

// Names of commands are as long as those of containers at most.
const (
	longestName = 63
	nameRule    = "1 to 63 letters, digits, hyphens, dots and underscores"
)

func validName(name string) bool {
	return name != "" && len(name) <= longestName && strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }) < 0
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
}

// nameOf makes a name from that of a program.
func nameOf(program string) string {
	name := strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '-'
	}, filepath.Base(program))
	return name[:min(len(name), longestName)]
}
