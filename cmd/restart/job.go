package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/jobrun"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// jobFlags are the flags of restart job.
type jobFlags struct {
	manifestFlags
	backoff, maxBackoff time.Duration
	state               string
	explain, colours    bool
	events, timeline    string
}

// exitInterrupted ends restart job when a signal has suspended the Job.
const exitInterrupted = 130

func jobCommand() *cobra.Command {
	var flags jobFlags
	c := &cobra.Command{
		Use:   "job [flags] FILE",
		Short: "Run a Job here, with processes for pods",
		Long: `job runs the Job of a manifest on this machine, with a process for each
container. It retries, waits and gives up as Kubernetes does. Images, volumes,
probes and resources are ignored, so a container needs a command. FILE is YAML
or JSON, or - for standard input; of a CronJob, one of its Jobs runs at once.

Processes see the environment of restart. What happens and what they print goes
to standard error, and at the end the Job's status to standard output. The first
Ctrl-C (SIGINT, SIGTERM or SIGHUP) suspends the Job and gives its pods their
grace period; the second one kills them.`,
		SuggestFor: []string{"runjob", "simulate"},
		Annotations: map[string]string{exitCodes: `    0  the Job is Complete
    1  it has Failed, or its manifest suspends it
    2  a flag, the manifest or the state is wrong; nothing was started
    3  the output, the state, the events or the picture could not be written
  130  interrupted`},
		Example: `  restart job job.yaml
  restart job --set backoffLimit=3 --backoff 1s --explain job.yaml
  restart job --command main='sh -c "exit 42"' --backoff 1s --explain job.yaml
  restart job --command train='python train.py' --env-file secrets.env job.yaml
  restart job --state job.state --timeline run.html job.yaml
  kubectl get job NAME -o yaml | restart job -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return flags.run(c, args) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&flags.job, "job", "", "`name` of the Job or CronJob to run, if the file has several")
	f.StringArrayVar(&flags.set, "set", nil, "`field=value` of the Job's spec in place of the file's, such as maxFailedIndexes=5; repeatable")
	f.StringArrayVar(&flags.commands, "command", nil, "`container=program` and its arguments, for a container whose command is in its image, such as main='sh -c \"exit 3\"' or main='[sh, -c, exit 3]'; repeatable")
	f.StringArrayVar(&flags.envFiles, "env-file", nil, "`file` of NAME=VALUE lines, in place of all Secrets and ConfigMaps: a variable takes the line with its own name, or with the key; repeatable")
	f.StringVar(&flags.validate, "validate", "strict", "`level` of validation for unknown and duplicate fields, as with kubectl: strict, warn or ignore")
	f.BoolVar(&flags.resume, "resume", false, "run the Job although its manifest says suspend: true")
	f.DurationVar(&flags.backoff, "backoff", 10*time.Second, "`delay` before a failed pod is replaced, or a container starts again in its pod; doubles with every further failure")
	f.DurationVar(&flags.maxBackoff, "max-backoff", 10*time.Minute, "longest `delay`")
	f.BoolVar(&flags.explain, "explain", false, "say for each failed pod which rule matched, and why the others did not")
	f.BoolVar(&flags.colours, "colours", false, "keep the colours of what processes print")
	f.StringVar(&flags.timeline, "timeline", "", "`file` for a picture of the run, .svg or .html, drawn at its end")
	f.StringVar(&flags.events, "events", "", "`file` for events, one JSON object per line; restart job timeline draws it")
	f.StringVar(&flags.state, "state", "", "`file` for the state of the run, from which the same command goes on, even if restart was killed")
	group(f, "Flags for the Job", "job", "set", "command", "env-file", "validate", "resume")
	group(f, "Flags for delays", "backoff", "max-backoff")
	group(f, "Flags for output and state", "explain", "colours", "timeline", "events", "state")
	c.AddCommand(timelineCommand())
	return c
}

// check returns an error for contradictory flags.
func (f *jobFlags) check(c *cobra.Command, args []string) error {
	given := c.Flags().Changed
	switch {
	case len(args) == 0:
		return usageError("name a manifest, or - for standard input, as in restart job job.yaml")
	case len(args) > 1:
		return usageError("one manifest is needed; got %q", args)
	case f.backoff <= 0:
		return usageError("--backoff %v: must be above 0", f.backoff)
	case f.maxBackoff < f.backoff && !given("max-backoff"):
		f.maxBackoff = f.backoff
	case f.maxBackoff < f.backoff:
		return usageError("--max-backoff %v: must not be below --backoff %v", f.maxBackoff, f.backoff)
	}
	for _, flag := range []struct{ name, file string }{{"state", f.state}, {"events", f.events}, {"timeline", f.timeline}} {
		if flag.file == "" && given(flag.name) {
			return usageError("--%s: the file has no name", flag.name)
		}
	}
	if f.timeline != "" {
		if err := checkPicture("timeline", f.timeline, ".svg", ".html"); err != nil {
			return err
		}
	}
	return checkState(f.state, []namedFile{
		{"the manifest", args[0]}, {"the file of --events", f.events}, {"the file of --timeline", f.timeline},
	})
}

// namedFile is a file with what it is for the user. It may be "" for none, or - for standard
// input or output.
type namedFile struct{ what, path string }

// checkState returns an error if the file of --state is also one of the others, which it would
// replace.
func checkState(state string, others []namedFile) error {
	for _, other := range others {
		if state != "" && other.path != "" && other.path != "-" && samePath(state, other.path) {
			return usageError("--state: %s is %s", human.Escape(state), other.what)
		}
	}
	return nil
}

// engine returns the Engine of Kubernetes with the delays of the flags.
func (f *jobFlags) engine() jobpolicy.Engine {
	return jobpolicy.Engine{BaseDelay: f.backoff, MaxDelay: f.maxBackoff, MinRequeue: min(f.backoff, time.Second)}
}

// restarts returns the kubelet's curve for restarts inside a pod, capped by the flags.
func (f *jobFlags) restarts() *backoff.Policy {
	p := backoff.CrashLoop()
	p.Initial = f.backoff
	p.Max = max(f.backoff, min(f.maxBackoff, p.Max))
	return &p
}

func (f *jobFlags) run(c *cobra.Command, args []string) error {
	if err := f.check(c, args); err != nil {
		return err
	}
	f.ownDelays = c.Flags().Changed("backoff") || c.Flags().Changed("max-backoff")
	m, err := f.read(args[0], c.InOrStdin())
	if err != nil {
		return err
	}
	signals := notifySignals()
	report := newJobReport(c.ErrOrStderr(), f.explain)
	run, err := jobrun.Open(jobrun.Options{
		Job: m.job, Generated: m.generated, Engine: f.engine(), Restarts: f.restarts(),
		Values: m.values, State: f.state, Colours: f.colours,
	}, report)
	var errs field.Errors
	switch {
	case errors.As(err, &errs):
		return m.mistakes(m.located(errs))
	case err != nil:
		return usageError("%s: %w", human.Escape(m.name), err)
	}
	defer run.Close()
	if _, finished := run.Job().Status.Finished(); finished {
		if f.timeline != "" {
			report.event("", "had finished already; restart job timeline draws a file of --events")
		}
		return f.conclude(c, run, report, signals)
	}
	if report.recorder, err = openRecorder(f, args[0], run.Job().Name, run.Resumed()); err != nil {
		return err
	}
	report.begin(run, m.notes)
	err = run.Run(signals)
	err = errors.Join(err, report.record(f, run))
	if err != nil {
		report.event("", "%v", err)
		_ = report.close(signals, run.Interrupted())
		return &exitError{code: exitUnwritten}
	}
	return f.conclude(c, run, report, signals)
}

// conclude prints how the run has ended.
func (f *jobFlags) conclude(c *cobra.Command, run *jobrun.Run, report *jobReport, signals <-chan os.Signal) error {
	job := run.Job()
	condition, finished := job.Status.Finished()
	if !finished && !run.Interrupted() && job.Spec.Suspend {
		report.event("", "suspended by its manifest: --resume runs it, and so does the manifest without spec.suspend")
	}
	if err := report.close(signals, run.Interrupted()); err != nil {
		return &exitError{code: exitUnwritten, err: fmt.Errorf("standard error cannot be written: %w", err)}
	}
	if err := writeStatus(c.OutOrStdout(), job); err != nil {
		return &exitError{code: exitUnwritten, err: fmt.Errorf("the status cannot be written: %w", err)}
	}
	switch {
	case run.Interrupted() && !finished:
		return &exitError{code: exitInterrupted}
	case !finished || condition.Type != batch.JobComplete:
		return &exitError{code: exitFailed}
	}
	return nil
}
