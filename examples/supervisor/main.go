//go:build linux || darwin

// Command supervisor keeps commands running, with growing delays, and survives kill -9.
//
//	supervisor FOLDER NAME COMMAND [NAME COMMAND]...
//
// A killed supervisor leaves its commands running. The next one learns of all
// exits meanwhile, and goes on. No exit is lost, and nothing starts twice or too soon.
//
// Two kinds of files in FOLDER make that possible. state.json is the Restarter, saved after
// each exit. Each run of a command has a file of its own, such as 3.web for the third run
// of web. The run holds a lock on it for as long as it lives, even without a supervisor,
// and writes when it began and how it ended.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

const (
	stateFile  = "state.json"
	pollEvery  = 50 * time.Millisecond
	startError = 128 // exit code of a run that did not begin
)

// curve is the delay of every restart.
var curve = backoff.ReducedCrashLoop()

// policy restarts failed commands, and gives up for an hour if one is killed too often.
func policy() backoff.ExitPolicy {
	return backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicyOnFailure,
		Rules: []backoff.Rule{{
			Name: "killed", Action: backoff.ActionRestart, Signals: []string{"SIGKILL"},
			Limit: 5, Window: time.Hour,
		}},
		Delay:     &curve,
		GiveUpFor: time.Hour,
	}
}

// command is a command line with a name.
type command struct{ name, line string }

func main() {
	log.SetFlags(0)
	log.SetPrefix("supervisor: ")
	folder, commands, err := parse(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Chdir(folder); err != nil {
		log.Fatal(err)
	}
	log.Fatal(supervise(commands))
}

func parse(args []string) (folder string, commands []command, err error) {
	if len(args) < 3 || len(args)%2 == 0 {
		return "", nil, errors.New("usage: supervisor FOLDER NAME COMMAND [NAME COMMAND]...; FOLDER must exist")
	}
	for i := 1; i < len(args); i += 2 {
		c := command{name: args[i], line: args[i+1]}
		if slices.ContainsFunc(commands, func(other command) bool { return other.name == c.name }) {
			return "", nil, fmt.Errorf("two commands have the name %s", c.name)
		}
		commands = append(commands, c)
	}
	return args[0], commands, nil
}

// supervise looks at each command again and again. It returns only an error.
func supervise(commands []command) error {
	restarter, err := backoff.NewRestarter(policy(), backoff.RestarterOptions[string]{})
	if err != nil {
		return err
	}
	if _, err := statefile.Load(stateFile, restarter); err != nil {
		return err
	}
	for {
		for _, c := range commands {
			if err := look(restarter, c); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		time.Sleep(pollEvery)
	}
}

// look decides about the exit of a command, or starts it if it may start.
func look(restarter *backoff.Restarter[string], c command) error {
	state, _ := restarter.State(c.name)
	number := state.Exit.Run + 1
	now, err := readRun(runFile(number, c.name))
	if err != nil {
		return err
	}
	if !now.running && !now.ended && !state.StartedAt.IsZero() {
		now = run{ended: true, code: startError} // it died before it could write
	}
	if now.ended {
		exit := backoff.Exit{Run: number, Code: now.code, Started: now.started, Finished: now.finished}
		decision := restarter.Exited(c.name, policy(), exit)
		fmt.Printf("%s: %s\n", c.name, decision.Reason(policy(), exit))
		return statefile.Save(stateFile, restarter)
	}
	if now.running {
		restarter.Started(c.name, now.started)
		return nil
	}
	if ok, _ := restarter.CanStart(c.name); !ok {
		return nil
	}
	// The exit of the run before is stored, so its file is of no more use.
	if err := os.Remove(runFile(number-1, c.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := start(number, c); err != nil {
		return err
	}
	restarter.Started(c.name, time.Time{})
	return nil
}

// runFile names the file of a run.
func runFile(number int64, name string) string { return fmt.Sprintf("%d.%s", number, name) }

// run holds the contents of the file of a run.
type run struct {
	running, ended    bool // neither: it was not started
	started, finished time.Time
	code              int32
}

// readRun reads the file of a run, which may not exist.
func readRun(name string) (r run, err error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return run{}, nil
	}
	if err != nil {
		return run{}, err
	}
	defer file.Close()
	locked := false
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		locked = true
	case err != nil:
		return run{}, err
	}
	var seconds int64
	r.code = 128 + int32(syscall.SIGKILL) // unless the run could write another one
	lines, _ := fmt.Fscan(file, &seconds, &r.code)
	if lines == 0 {
		r.running = locked // about to begin
		return r, nil
	}
	info, err := file.Stat()
	if err != nil {
		return run{}, err
	}
	r.started = time.Unix(seconds, 0)
	if lines == 2 { // otherwise nobody knows when it ended
		r.finished = info.ModTime()
	}
	r.running, r.ended = locked, !locked
	return r, nil
}

// script runs a command. It writes the time and the exit code to descriptor 3, whose lock
// the command inherits.
const script = `date +%s >&3; sh -c "$1"; echo $? >&3`

// start starts a run of a command. If this supervisor is killed before the run has begun,
// the lock is free again, and the next supervisor starts the run.
func start(number int64, c command) error {
	file, err := os.OpenFile(runFile(number, c.name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() // the run keeps it open
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", script, "sh", c.line)
	cmd.Env = append(os.Environ(), "RUN="+runFile(number, c.name))
	cmd.ExtraFiles = []*os.File{file} // descriptor 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // the file says how it ended
	return nil
}
