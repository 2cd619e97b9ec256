package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/flags"
	"github.com/restartkit/restart/jobpolicy"
)

const usage = `Usage: runjob [flags] MANIFEST

Runs the batch/v1 Job of a YAML or JSON file (- for standard input) on this
machine. Every container of a pod is a process: its command, args, env and
workingDir are used, its image is not. Init containers run first, sidecars
beside the others. Retries, delays, the pod failure policy and the limits are
those of Kubernetes.

  runjob testdata/quickstart.yaml
  runjob -dry-run -set backoffLimit=3 job.yaml
  kubectl get job NAME -o yaml | runjob -
  runjob -state state/ -env-file secrets.env job.yaml

The file is checked as kubectl --validate=strict does: a field that is not known
is an error. It may hold other objects, a List, or a CronJob, whose template is
run. Of several Jobs -job chooses one.

Processes see the environment of runjob, with HOSTNAME as the name of their pod.
The value of a secretKeyRef or configMapKeyRef is looked for in -env-file, under
the name of the variable or of the key, in a Secret or ConfigMap of the same
file, and in the environment of runjob under the name of the variable. envFrom
takes what the Secret or ConfigMap of the same file holds, and every line of
-env-file. Where there is no value the pod waits, as on a cluster, with the
reason CreateContainerConfigError.

What happens is told on standard error, with a progress bar on a terminal. At
the end the Job's status is printed on standard output, as kubectl does, with
the decision that ended it.

The first SIGINT, SIGTERM or SIGHUP suspends the Job: the first process of every
container gets SIGTERM and, at the end of terminationGracePeriodSeconds, all
that is left of it SIGKILL. The second signal kills at once. Under nohup SIGHUP
is ignored. What processes write is printed with the name of their pod; a
process waits while nobody reads it, runjob does not. What could not be printed
when the grace period is over is dropped.

No process outlives the run, even if runjob is killed: a second process guards
it. If both are killed at once, the next run with the same -state ends what they
leave, as far as it is known to be theirs: not what su or sudo has started. On
Linux that goes for what has left its session or its group, has another user or
no parent any more, too. It does not for what another program was asked to start
(as by systemctl or cron), and on other systems not for what leaves its process
group.

With -state the run can be ended at any moment, by SIGKILL too, and be gone on
with: the same command again counts every failure once. It takes over processes
that had ended; those that were running have been killed, and their pods run
again uncounted. After a power failure what was decided in the last second is
decided again. A Job that has finished is not run again. The folder must be
empty or have been made by runjob, belong to you, and be writable for nobody
else.

Exit codes:
  0    the Job is Complete, or valid with -dry-run
  1    the Job has Failed
  2    a flag, the manifest or the state is wrong; nothing was started
  3    the status or the state cannot be written
  130  interrupted

Flags:
`

// options are the flags.
type options struct {
	manifest            string
	backoff, maxBackoff time.Duration
	explain, dryRun     bool
	state               string
	colours             bool
	reading             reading
	disruptions         disruptions
}

// parseOptions reads the flags. Their description goes to stdout if it is asked
// for, as flag.ErrHelp.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := options{reading: reading{validate: strictly}}
	flags := flags.New("runjob", usage)
	flags.DurationVar(&o.backoff, "backoff", 10*time.Second, "`delay` before the first replacement of a failed pod; doubles with every\nfurther failure")
	flags.DurationVar(&o.maxBackoff, "max-backoff", 10*time.Minute, "longest `delay`")
	flags.BoolVar(&o.explain, "explain", false, "tell for each failed pod which rule matched, and why the others did not")
	flags.BoolVar(&o.dryRun, "dry-run", false, "run nothing, but tell what is valid and surely not meant, and the worst\nthat can happen")
	flags.StringVar(&o.state, "state", "", "`folder` that keeps all that is needed to go on after this program was\nended")
	flags.BoolVar(&o.colours, "colours", false, "keep the colours in what processes write; all other control characters\nare shown as \\x1b and the like")
	flags.Var(&o.reading.set, "set", "`field=value` that overrides a field of the Job's spec, as\nmaxFailedIndexes=5; can be given again")
	flags.StringVar(&o.reading.job, "job", "", "`name` of the Job or CronJob to run, where the file has more than one")
	flags.Var(&o.reading.validate, "validate", "what becomes of fields that are not known or given twice, as with\nkubectl; the `level` is strict, warn or ignore")
	flags.Var(&o.reading.envFiles, "env-file", "`file` of lines NAME=VALUE for secretKeyRef, configMapKeyRef and envFrom;\ncan be given again")
	flags.Var(&o.disruptions, "disrupt", "`index@delay` after which the pod of the index is disrupted, as by a\ndrained node: 3@500ms; can be given again")
	err := flags.Parse(args, stdout)
	switch {
	case err != nil:
		return nil, err
	case o.state == "" && flags.Given()["state"]:
		return nil, errors.New("-state: the folder has no name")
	case flags.NArg() == 0:
		return nil, errors.New("a manifest is needed")
	case flags.NArg() > 1:
		return nil, fmt.Errorf("one manifest is needed, behind the flags; got %q", flags.Args())
	case o.backoff <= 0:
		return nil, fmt.Errorf("-backoff %v: must be above 0", o.backoff)
	case o.maxBackoff < o.backoff:
		return nil, fmt.Errorf("-max-backoff %v: must not be below -backoff %v", o.maxBackoff, o.backoff)
	}
	o.manifest = flags.Arg(0)
	return &o, nil
}

// engine decides as Kubernetes does, but for the delays.
func (o *options) engine() jobpolicy.Engine {
	return jobpolicy.Engine{BaseDelay: o.backoff, MaxDelay: o.maxBackoff, MinRequeue: min(o.backoff, time.Second)}
}

// restartPolicy is the curve of restarts inside a pod: a kubelet's, unless the
// flags say otherwise.
func (o *options) restartPolicy() backoff.Policy {
	p := backoff.CrashLoop()
	p.Initial = o.backoff
	p.Max = max(o.backoff, min(o.maxBackoff, p.Max))
	return p
}
