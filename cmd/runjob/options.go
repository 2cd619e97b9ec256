package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/jobpolicy"
)

const usage = `Usage: runjob [flags] MANIFEST
       runjob timeline EVENTS -o FILE

Runs the batch/v1 Job of a YAML or JSON file (- for standard input) on this
machine. Each container runs as a process; images are ignored. Retries, delays,
pod failure policy and limits are those of Kubernetes. Events and the output of
the processes go to standard error, the final status to standard output.

The first SIGINT, SIGTERM or SIGHUP suspends the Job and terminates its pods;
the second kills them. No process outlives runjob, even if runjob is killed.
`

const moreUsage = `
Exit codes:
  0    the Job is Complete, or valid with -dry-run
  1    the Job has Failed
  2    a flag, the manifest or the state is wrong; nothing was started
  3    the output, the state, the events or the picture cannot be written
  130  interrupted

Examples:
  runjob testdata/quickstart.yaml
  runjob -dry-run -set backoffLimit=3 job.yaml
  kubectl get job NAME -o yaml | runjob -
  runjob -timeline run.html job.yaml
  runjob -state state/ -env-file secrets.env job.yaml

More: https://github.com/restartkit/restart/tree/main/cmd#runjob
`

// options holds the flags.
type options struct {
	manifest            string
	backoff, maxBackoff time.Duration
	explain, dryRun     bool
	state               string
	events, timeline    string
	colours             bool
	reading             reading
	disruptions         disruptions
}

// parseOptions reads the flags. For -h it writes the help text to stdout and returns
// flag.ErrHelp.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := options{reading: reading{Reading: jobfile.Reading{Validate: jobfile.Strict}}}
	flags := flags.New("runjob", usage, moreUsage)
	flags.Subcommands = []string{"timeline"}
	flags.StringVar(&o.reading.Job, "job", "", "`name` of the Job or CronJob to run, if the file has several")
	flags.Var(&o.reading.Set, "set", "`field=value` that overrides a field of the Job's spec, such as\nmaxFailedIndexes=5; repeatable")
	flags.Var(&o.reading.Validate, "validate", "`level` of validation for unknown and duplicate fields, as with kubectl:\nstrict, warn or ignore")
	flags.Var(&o.reading.envFiles, "env-file", "`file` of NAME=VALUE lines for secretKeyRef, configMapKeyRef and envFrom;\nrepeatable")
	flags.Group("The manifest")
	flags.DurationVar(&o.backoff, "backoff", 10*time.Second, "`delay` before a failed pod is replaced; doubles with every further\nfailure")
	flags.DurationVar(&o.maxBackoff, "max-backoff", 10*time.Minute, "longest `delay`")
	flags.Var(&o.disruptions, "disrupt", "`index@delay` that disrupts the pod of the index after the delay, as a\nnode drain does, such as 3@500ms; repeatable")
	flags.StringVar(&o.state, "state", "", "`folder` for the state of the run, from which the same command resumes it")
	flags.BoolVar(&o.dryRun, "dry-run", false, "run nothing; print whether the Job is valid, its likely mistakes, and\nthe worst case")
	flags.Group("The run")
	flags.BoolVar(&o.explain, "explain", false, "print for each failed pod which rule matched, and why the others did not")
	flags.BoolVar(&o.colours, "colours", false, "keep the colours of the processes' output; other control characters are\nalways shown as \\x1b and the like")
	flags.StringVar(&o.events, "events", "", "`file` for events, one JSON object per line; a run that -state resumes\nappends to it. Fields: time, event (began, resumed, created, started,\nrestarted, succeeded, failed, deleted, terminated, indexFailed,\ncondition, ended), job, pod, uid, index, attempt, container, exitCode,\nsignal, condition, status, reason, message, rule, ruleName, action,\ncounted, wait, why")
	flags.StringVar(&o.timeline, "timeline", "", "`file` for a picture of the run, .svg or .html, drawn at its end;\n\"runjob timeline\" draws a file of -events")
	flags.Group("The output")
	err := flags.Parse(args, stdout)
	switch {
	case err != nil:
		return nil, err
	case o.state == "" && flags.Given()["state"]:
		return nil, errors.New("-state: the folder has no name")
	case o.events == "" && flags.Given()["events"]:
		return nil, errors.New("-events: the file has no name")
	case flags.NArg() == 0:
		return nil, errors.New("a manifest is needed")
	case flags.NArg() > 1:
		return nil, fmt.Errorf("one manifest is needed, after the flags; got %q", flags.Args())
	case o.backoff <= 0:
		return nil, fmt.Errorf("-backoff %v: must be above 0", o.backoff)
	case o.maxBackoff < o.backoff:
		return nil, fmt.Errorf("-max-backoff %v: must not be below -backoff %v", o.maxBackoff, o.backoff)
	}
	o.manifest = flags.Arg(0)
	if flags.Given()["timeline"] {
		if err := checkPicture("timeline", o.timeline); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

// engine returns the Engine of Kubernetes with the delays of the flags.
func (o *options) engine() jobpolicy.Engine {
	return jobpolicy.Engine{BaseDelay: o.backoff, MaxDelay: o.maxBackoff, MinRequeue: min(o.backoff, time.Second)}
}

// restartPolicy returns the kubelet's curve for restarts inside a pod, capped by the
// flags.
func (o *options) restartPolicy() *backoff.Policy {
	p := backoff.CrashLoop()
	p.Initial = o.backoff
	p.Max = max(o.backoff, min(o.maxBackoff, p.Max))
	return &p
}
