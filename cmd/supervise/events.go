package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/restartkit/restart/backoff"
)

// event is one line of the -events file.
type event struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`             // began, started, exited, ended
	Command  string    `json:"command,omitempty"` // absent for supervise itself
	Run      int64     `json:"run,omitempty"`     // counts the starts of a command, across restarts of supervise
	ExitCode *int32    `json:"exitCode,omitempty"`
	Signal   int32     `json:"signal,omitempty"`
	Action   string    `json:"action,omitempty"` // decision on the exit; absent if supervise ended the command
	Failures int       `json:"failures,omitempty"`
	Wait     string    `json:"wait,omitempty"` // before the next start
	Why      string    `json:"why,omitempty"`
}

// recorder appends events to the -events file. A nil recorder does nothing.
type recorder struct {
	file *os.File
	err  error // the first
}

// newRecorder opens the file and records the beginning of the run, so that an
// unwritable file is refused before any command starts.
func newRecorder(path string) (*recorder, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("-events: %s is not a regular file; its reader could hold up supervise", path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("-events: %w", err)
	}
	r := &recorder{file: file}
	r.add(event{Event: "began"})
	if r.err != nil {
		file.Close()
		return nil, fmt.Errorf("-events: %w", r.err)
	}
	return r, nil
}

// add appends an event. After an error it is a no-op, so that a full disk delays no
// command.
func (r *recorder) add(e event) {
	if r == nil || r.err != nil {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	text, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	r.err = err
}

// started records the start of a command.
func (r *recorder) started(t *task) {
	r.add(event{Time: t.began, Event: "started", Command: t.name, Run: t.run})
}

// exited records an exit, with the decision on it unless supervise caused the exit.
func (r *recorder) exited(t *task, e backoff.Exit, d *backoff.Decision, why string) {
	x := event{Time: e.Finished, Event: "exited", Command: t.name, Run: e.Run, ExitCode: &e.Code, Signal: e.Signal}
	if d != nil {
		x.Action, x.Failures, x.Why = string(d.Action), d.Failures, why
		if d.Action == backoff.ActionRestart || d.Action == backoff.ActionRestartAll {
			x.Wait = d.Delay.String()
		}
	}
	r.add(x)
}

// end records the end of the run and returns the first write error.
func (r *recorder) end() error {
	if r == nil {
		return nil
	}
	r.add(event{Event: "ended"})
	if err := errors.Join(r.err, r.file.Close()); err != nil {
		return fmt.Errorf("-events: %w", err)
	}
	return nil
}
