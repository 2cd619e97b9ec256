//go:build linux || darwin

// Command supervisor FOLDER NAME COMMAND… keeps commands running, even if killed by -9.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
	"github.com/restartkit/restart/statefile"
)

var curve = backoff.ReducedCrashLoop()

var rules = backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: backoff.Rules{
	{Name: "killed", Action: backoff.ActionRestart, Signals: []string{"SIGKILL"}, Limit: 5, Window: time.Hour}}}

type runs struct{} // a pleg.Runtime whose pods are runs, with one container each

func (r runs) Pods(ctx context.Context) (pods []pleg.Pod[string], err error) {
	for _, id := range must(filepath.Glob("[0-9]*.*")) {
		if pod, _, err := r.Pod(ctx, id); err == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// Pod returns the only container of a run, whose state is the status, too.
func (runs) Pod(_ context.Context, id string) (pod pleg.Pod[string], state pleg.State, err error) {
	file, err := os.Open(id)
	if err != nil {
		return pod, state, pleg.ErrNotFound
	}
	defer file.Close()
	c := pleg.Container{ID: id}
	locked := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
	started, code := int64(0), int32(137) // unless it wrote another one
	switch lines, _ := fmt.Fscan(file, &started, &code); {
	case lines > 0 && locked:
		c.State = pleg.StateRunning
	case lines > 0:
		c.State = pleg.StateExited
		c.Exit = &pleg.ExitDetails{Code: code, Started: time.Unix(started, 0), Finished: must(file.Stat()).ModTime()}
	case !locked: // with the lock, it may be about to start
		c.State = pleg.StateCreated
	}
	return pleg.Pod[string]{ID: id, Containers: []pleg.Container{c}}, c.State, nil
}

// saved is the state that survives the program: the decisions, and how far the exits have
// been read.
type saved struct {
	Restarter *backoff.Restarter[string] `json:"restarter"`
	Position  *pleg.ExitPosition[string] `json:"position"`
}

// parse returns the number of a run and the name of its command, from an id such as 3.web.
func parse(id string) (run int64, name string) {
	number, name, _ := strings.Cut(id, ".")
	run, err := strconv.ParseInt(number, 10, 64)
	check(err)
	return run, name
}

func main() {
	if len(os.Args) < 4 || len(os.Args)%2 != 0 || os.Chdir(os.Args[1]) != nil {
		log.Fatal("usage: supervisor FOLDER NAME COMMAND [NAME COMMAND]…; FOLDER must exist")
	}
	restarter := must(backoff.NewRestarter(curve, backoff.RestarterOptions[string]{}))
	before := saved{Restarter: restarter}
	must(statefile.Load("state.json", &before))
	gen := must(pleg.NewGenerator(runs{}, statuscache.New[string](statuscache.Options[pleg.State]{}), pleg.GeneratorOptions[string]{RelistPeriod: 50 * time.Millisecond}))
	reader := must(gen.ExitReader(pleg.ExitOptions[string]{Resume: before.Position}))
	go gen.Run(context.Background())
	save := func() {
		position := reader.Position()
		check(statefile.Save("state.json", saved{restarter, &position}))
	}
	commands := map[string]string{}
	start := func(name string) {
		last, _ := restarter.State(name)
		id := fmt.Sprint(last.Last.Run+1, ".", name)
		os.Remove(fmt.Sprint(last.Last.Run, ".", name)) // its exit is saved
		file := must(os.OpenFile(id, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
		defer file.Close()
		if _, state, _ := (runs{}).Pod(context.Background(), id); state == pleg.StateCreated {
			reader.Expect(id, pleg.Container{ID: id})
			save()
			check(syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
			cmd := exec.Command("sh", "-c", `date +%s >&3; sh -c "$1"; echo $? >&3`, "sh", commands[name])
			cmd.Env, cmd.ExtraFiles = append(os.Environ(), "RUN="+id), []*os.File{file} // fd 3, which holds the lock
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			check(cmd.Start())
			go cmd.Wait()
		} else if state > pleg.StateCreated {
			restarter.Started(name, last.Last.Run+1)
		}
	}
	for i := 3; i < len(os.Args); i += 2 {
		commands[os.Args[i-1]] = os.Args[i]
	}
	for ; ; time.Sleep(50 * time.Millisecond) {
		for e, ok := reader.TryNext(); ok; e, ok = reader.TryNext() {
			run, name := parse(e.Container)
			exit := e.Backoff(run)
			decision := restarter.Exited(name, rules, exit)
			fmt.Printf("%s: %s\n", name, decision.Reason(rules, exit))
			save()
		}
		due := maps.Collect(restarter.Due(time.Now()))
		for name := range commands {
			d, pending := due[name]
			if _, known := restarter.State(name); !known || pending && d.Remaining(time.Now()) == 0 {
				start(name)
			}
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
