// Command runjob runs a Kubernetes Job manifest on this machine, with processes
// in place of pods.
package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/examples/internal/flags"
	"github.com/restartkit/restart/examples/internal/interrupt"
	"github.com/restartkit/restart/examples/internal/printer"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/examples/internal/terminal"
	"github.com/restartkit/restart/jobpolicy"
)

// The exit codes of this program.
const (
	exitComplete    = 0
	exitFailed      = 1
	exitBad         = 2
	exitError       = 3
	exitInterrupted = 130
)

func main() {
	process.Guard()
	os.Exit(runjob(os.Args[1:], os.Stdout, os.Stderr))
}

// runjob is the program; it returns the exit code.
func runjob(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return flags.Refused("runjob", err, stderr, exitError)
	}
	m, err := readManifest(o.manifest, o.reading)
	if err == nil {
		err = o.disruptions.check(&m.job.Spec)
	}
	var plan string
	if err == nil && o.dryRun {
		plan, err = dryRun(o.engine(), m)
	}
	if err != nil {
		complain(stderr, document.NameOf(o.manifest), err)
		return exitBad
	}
	if o.dryRun {
		_, err = io.WriteString(stdout, plan)
		return printed(stderr, err, exitComplete)
	}
	store, old, err := openState(o.state, m)
	if err != nil {
		complain(stderr, document.NameOf(o.manifest), err)
		return exitBad
	}
	if old != nil {
		if _, finished := old.Job.Status.Finished(); finished {
			return conclude(stdout, stderr, terminal.Colours(stdout), old.Job, nil)
		}
	}
	signals := interrupt.Notify(syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGHUP)
	screen := printer.New()
	events := screen.To(stderr)
	report := newReport(m.job, o.explain, events)
	if old != nil {
		report.counted = int(old.Job.Status.Failed)
	}
	report.manifest(m)
	r, err := prepare(o, m, store, report, screen)
	if err != nil {
		return printed(stderr, err, exitBad)
	}
	err = r.run(old, signals)
	report.finish()
	status := screen.To(stdout)
	status.KeepAll = true
	code := conclude(status, events, terminal.Colours(stdout), r.job, err)
	whole := screen.Finish(signals)
	switch err := status.Err(); {
	case err != nil:
		return printed(stderr, fmt.Errorf("the status cannot be written: %w", err), code)
	case !whole && !r.interrupted:
		return exitError
	}
	return code
}

// openState opens the folder of -state, if it is given, and returns what an
// earlier run of the same Job left there.
func openState(dir string, m *manifest) (*store, *state, error) {
	if dir == "" {
		return nil, nil, nil
	}
	s, err := openStore(dir)
	var old *state
	if err == nil {
		old, err = s.load()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("-state: %w", err)
	}
	if old == nil {
		return s, nil, nil
	}
	m.resumeName(old.Job.Name)
	if errs := old.check(m); len(errs) > 0 {
		return nil, nil, errs
	}
	return s, old, nil
}

// prepare makes what runs the Job's pods on this machine.
func prepare(o *options, m *manifest, store *store, report *report, screen *printer.Printer) (*runner, error) {
	restarts, err := backoff.NewRestarter(o.restartPolicy(), backoff.RestarterOptions[string]{})
	if err != nil {
		return nil, err
	}
	h := &host{
		output:   &output{printer: screen, print: report.output, colours: o.colours},
		store:    store,
		machine:  os.Environ(),
		sources:  m.sources,
		config:   m.config,
		restarts: restarts,
		event:    report.event,
		again: func(pod, container string, restart int, e exit, delay time.Duration) {
			report.restarting(pod, container, restart, e, delay, &m.job.Spec)
		},
	}
	m.job.UID = newUID()
	r := newRunner(o.engine(), m, h, report)
	r.disruptions = o.disruptions
	return r, nil
}

// conclude prints how the run ended and returns its exit code.
func conclude(stdout, stderr io.Writer, colours bool, job *jobpolicy.Job, err error) int {
	if err == nil {
		err = writeStatus(stdout, colours, job)
	}
	code := exitFailed
	switch c, finished := job.Status.Finished(); {
	case !finished && job.Spec.Suspend:
		code = exitInterrupted
	case finished && c.Type == jobpolicy.JobComplete:
		code = exitComplete
	}
	return printed(stderr, err, code)
}

// printed returns the exit code, or says what could not be written.
func printed(stderr io.Writer, err error, code int) int {
	if err != nil {
		fmt.Fprintf(stderr, "runjob: %s\n", terminal.Escape(err.Error()))
		return exitError
	}
	return code
}

// complain says what is wrong with a manifest, one mistake a line.
func complain(w io.Writer, manifest string, err error) {
	var lines []string
	switch err := err.(type) {
	case mistakes:
		for _, one := range err {
			lines = append(lines, one.String())
		}
	case jobpolicy.FieldErrors:
		for i := range err {
			lines = append(lines, err[i].Error())
		}
	default:
		fmt.Fprintf(w, "runjob: %s\n", terminal.Escape(fmt.Sprintf("%s: %v", manifest, err)))
		return
	}
	fmt.Fprintf(w, "runjob: %s: nothing was started:\n", terminal.Escape(manifest))
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", terminal.Escape(line))
	}
}

// newUID returns a random UID of the form that Kubernetes gives.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
