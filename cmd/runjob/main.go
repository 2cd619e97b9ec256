// Command runjob runs a Kubernetes Job manifest on this machine, with processes
// in place of pods.
package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Exit codes.
const (
	exitComplete    = flags.ExitOK
	exitFailed      = 1
	exitBad         = flags.ExitUsage
	exitUnwritten   = flags.ExitUnwritten
	exitInterrupted = 130
)

func main() {
	process.Guard()
	os.Exit(runjob(os.Args[1:], os.Stdout, os.Stderr))
}

// runjob runs the program and returns the exit code.
func runjob(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "timeline" {
		return drawEvents(args[1:], stdout, stderr)
	}
	o, err := parseOptions(args, stdout)
	if err != nil {
		return flags.Refused("runjob", err, stderr)
	}
	refused := func(err error) int {
		complain(stderr, document.NameOf(o.manifest), err)
		return exitBad
	}
	m, err := readManifest(o.manifest, o.reading)
	if err != nil {
		return refused(err)
	}
	if err := o.disruptions.check(&m.Job.Spec); err != nil {
		return refused(err)
	}
	if o.dryRun {
		plan, err := dryRun(o.engine(), m)
		if err != nil {
			return refused(err)
		}
		_, err = io.WriteString(stdout, plan)
		return printed(stderr, err, exitComplete)
	}
	store, old, err := openState(o.state, m)
	if err != nil {
		return refused(err)
	}
	if old != nil {
		if _, finished := old.Job.Status.Finished(); finished {
			if o.timeline != "" {
				fmt.Fprintln(stderr, "runjob: the Job had already finished; \"runjob timeline\" draws a file of -events")
			}
			return conclude(stdout, stderr, terminal.Colours(stdout), old.Job, nil)
		}
	}
	record, err := newRecorder(o, m.Job.Name, old != nil)
	if err != nil {
		return refused(err)
	}
	return runManifest(o, m, store, old, record, stdout, stderr)
}

// runManifest runs the Job to its end, resuming from old unless it is nil. It prints
// the Job's status and returns the exit code.
func runManifest(o *options, m *manifest, store *store, old *state, record *recorder, stdout, stderr io.Writer) int {
	signals := interrupt.Notify(syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGHUP)
	screen := printer.New()
	events := screen.To(stderr)
	report := newReport(m.Job, o.explain, events)
	if old != nil {
		report.counted = int(old.Job.Status.Failed)
		report.failed = report.counted
	}
	report.manifest(m)
	r, err := prepare(o, m, store, report, record, screen)
	if err != nil {
		return printed(stderr, err, exitBad)
	}
	err = r.run(old, signals)
	report.finish()
	recorded := r.recorded(o)
	status := screen.To(stdout)
	status.KeepAll = true
	code := conclude(status, events, terminal.Colours(stdout), r.job, err)
	whole := screen.Finish(signals)
	switch err := status.Err(); {
	case err != nil:
		return printed(stderr, fmt.Errorf("the status cannot be written: %w", err), code)
	case recorded != nil:
		return printed(stderr, recorded, exitUnwritten)
	case events.Err() != nil, !whole && !r.interrupted:
		return exitUnwritten
	}
	return code
}

// prepare returns a runner for the Job.
func prepare(o *options, m *manifest, store *store, report *report, record *recorder, screen *printer.Printer) (*runner, error) {
	restarts, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: o.restartPolicy()}, backoff.RestarterOptions[string]{})
	if err != nil {
		return nil, err
	}
	h := &host{
		output:   &output{printer: screen, print: report.output, colours: o.colours},
		store:    store,
		machine:  os.Environ(),
		sources:  m.Sources,
		config:   m.config,
		restarts: restarts,
		event:    report.event,
		started:  record.started,
		again: func(pod *podRun, container string, restart int, e exit, delay time.Duration) {
			record.restarting(pod, container, restart, e, delay)
			report.restarting(pod.pod.Name, container, restart, e, delay, &m.Job.Spec)
		},
	}
	m.Job.UID = newUID()
	r := newRunner(o.engine(), m, h, report)
	r.disruptions, r.events = o.disruptions, record
	return r, nil
}

// conclude prints how the run ended and returns its exit code.
func conclude(stdout, stderr io.Writer, colours bool, job *batch.Job, err error) int {
	if err == nil {
		err = writeStatus(stdout, colours, job)
	}
	code := exitFailed
	switch c, finished := job.Status.Finished(); {
	case !finished && job.Spec.Suspend:
		code = exitInterrupted
	case finished && c.Type == batch.JobComplete:
		code = exitComplete
	}
	return printed(stderr, err, code)
}

// printed returns code, or prints err and returns exitUnwritten.
func printed(stderr io.Writer, err error, code int) int {
	if err != nil {
		fmt.Fprintf(stderr, "runjob: %s\n", terminal.Escape(err.Error()))
		return exitUnwritten
	}
	return code
}
