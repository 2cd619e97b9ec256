package jobrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
	process "github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// listener is an Observer that remembers what it was told.
type listener struct {
	mu       sync.Mutex
	notes    []string
	lines    []string
	restarts []Restart
}

func (l *listener) Began(time.Time, bool) error { return nil }
func (l *listener) Decided(Changes) error       { return nil }
func (l *listener) Changed(Changes)             {}
func (l *listener) Started(PodID, time.Time)    {}

func (l *listener) Restarting(r Restart) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restarts = append(l.restarts, r)
}

func (l *listener) Line(_ PodID, _ string, line process.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line.Text)
}

func (l *listener) Note(_, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, text)
}

// job is a Job of one container, which runs an sh program.
func job(script string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "test", Namespace: "default"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Command: []string{"sh", "-c", script}}},
		}}},
	}
}

// fast are options whose delays are as short as can be.
func fast(j *batchv1.Job, state string) Options {
	return Options{
		Job: j, State: state,
		Engine:   jobpolicy.Engine{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond, MinRequeue: time.Millisecond},
		Restarts: &backoff.Policy{Initial: time.Millisecond, Max: time.Millisecond},
	}
}

// A Job runs, its state is in the file, and it does not run twice.
func TestRun(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	var heard listener
	run, err := Open(fast(job("echo out"), state), &heard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fast(job("echo out"), state), &heard); err == nil || !strings.Contains(err.Error(), "another run uses the state") {
		t.Errorf("error %v", err)
	}
	if err := run.Run(nil); err != nil {
		t.Fatal(err)
	}
	run.Close()
	if c, finished := run.Job().Status.Finished(); !finished || c.Type != batch.JobComplete || run.Job().Status.Succeeded != 1 {
		t.Errorf("status %+v", run.Job().Status)
	}
	if len(heard.lines) != 1 || heard.lines[0] != "out" {
		t.Errorf("lines %q", heard.lines)
	}
	again, err := Open(fast(job("echo out"), state), &heard)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, finished := again.Job().Status.Finished(); !finished || !again.Resumed() {
		t.Errorf("status %+v", again.Job().Status)
	}
	if _, err := os.Stat(state + ".lock"); err != nil {
		t.Error(err)
	}
}

// A pod that is deleted before its first process has started fails for that reason, and
// starts none.
func TestPodDeletedWhilePendingStartsNothing(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	h := &host{observer: &listener{}, changed: make(chan struct{}, 1), template: &corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}},
		Containers:     []corev1.Container{{Name: "main"}},
	}}
	r := newPodRun(h, &Pod{}, nil)
	r.terminate()
	r.run()
	if s := r.now().status; s.Phase != batch.PodFailed || s.Reason != "Deleted" {
		t.Errorf("status %+v", s)
	}
}

// What a state says can be anything, and what no run can have written is refused.
func TestEditedStates(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	j := job("exit 1")
	indexed, one, two := batchv1.IndexedCompletion, int32(1), int32(2)
	j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimit = &indexed, &two, &two, &one
	run, err := Open(fast(j, state), &listener{})
	if err != nil {
		t.Fatal(err)
	}
	run.look()
	c := jobpolicy.Creation{Index: 1}
	c.GenerateName = "test-1-"
	run.create(c, time.Now())
	if err := run.save(); err != nil {
		t.Fatal(err)
	}
	run.Close()
	good, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := readState(state); err != nil || len(s.Pods) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	for edit, want := range map[string]string{
		`"program": "restart job"`: `"program": "x"`,
		`"version": 1`:             `"version": 2`,
		`"uid": "`:                 `"uid": "../`,
		`"index": 1`:               `"index": 2`,
		`"attempt": 1`:             `"attempt": 0`,
		`"restartCount": 0`:        `"restartCount": -1`,
		`"name": "main",`:          `"name": "other",`,
		`"program"`:                `{`,
	} {
		text := strings.Replace(string(good), edit, want, 1)
		if text == string(good) {
			t.Errorf("no %s in %s", edit, good)
		}
		if err := os.WriteFile(state, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(state); err == nil || !strings.Contains(err.Error(), "is kept as it is") {
			t.Errorf("%s instead of %s: %+v, %v", want, edit, s, err)
		}
	}
	if err := os.WriteFile(state, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fast(j, state), &listener{}); err == nil {
		t.Error("half a state is taken")
	}
	for _, text := range []string{"", "\n"} {
		if err := os.WriteFile(state, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(state); (err == nil) != (text == "") || s != nil {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// A pod that had ended for good in an earlier run does not run again, nor a container of
// one that had not.
func TestWhatHasEndedStaysEnded(t *testing.T) {
	j := job("echo main")
	j.Spec.Template.Spec.Containers = append(j.Spec.Template.Spec.Containers,
		corev1.Container{Name: "other", Command: []string{"sh", "-c", "echo other"}})
	var heard listener
	run, err := Open(fast(j, ""), &heard)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	saved := &savedPod{Attempt: 1, Index: -1, Backoff: map[string]*backoff.State{"main": {}}}
	saved.Backoff["main"].Exited(&backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}, backoff.Exit{Run: 1, Finished: now}, now, 0)
	saved.Metadata.UID, saved.Metadata.Name = newUID(), "test-1"
	saved.Status = batch.PodStatus{Phase: batch.PodRunning, StartTime: now, ContainerStatuses: []batch.ContainerStatus{
		{Name: "main", State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{FinishedAt: now}}},
		{Name: "other", State: batch.ContainerState{Running: &batch.ContainerStateRunning{StartedAt: now}}},
	}}
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	saved = new(savedPod)
	if err := json.Unmarshal(text, saved); err != nil {
		t.Fatal(err)
	}
	if run.children, err = process.New(); err != nil {
		t.Fatal(err)
	}
	defer run.children.Close()
	p := saved.pod()
	run.add(p, saved)
	p.run.run()
	if s := p.run.now().status; s.Phase != batch.PodSucceeded || s.ContainerStatuses[1].RestartCount != 0 {
		t.Errorf("status %+v", s)
	}
	if strings.Join(heard.lines, " ") != "other" {
		t.Errorf("lines %q", heard.lines)
	}
}

// failedStarts is a number of failed starts of a container after which whatever did not wait
// for it has long begun.
const failedStarts = 50

// handyman is a listener that repairs something after so many failed starts.
type handyman struct {
	listener
	repair func()
}

func (h *handyman) Restarting(r Restart) {
	h.listener.Restarting(r)
	if r.Number == failedStarts {
		h.repair()
	}
}

// The containers after a sidecar start once it has started, however often that fails.
func TestSidecarThatCannotStartHoldsBackThePod(t *testing.T) {
	program := filepath.Join(t.TempDir(), "side")
	always := corev1.ContainerRestartPolicyAlways
	j := job("test -e " + program)
	pod := &j.Spec.Template.Spec
	pod.InitContainers = []corev1.Container{
		{Name: "side", Command: []string{program}, RestartPolicy: &always},
		{Name: "init", Command: []string{"test", "-e", program}},
	}
	none := int32(0)
	j.Spec.BackoffLimit = &none
	heard := &handyman{repair: func() {
		if err := os.Symlink("/bin/true", program); err != nil {
			t.Error(err)
		}
	}}
	run, err := Open(fast(j, ""), heard)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Run(nil); err != nil {
		t.Fatal(err)
	}
	if s := run.Job().Status; s.Succeeded != 1 {
		t.Errorf("status %+v, notes %q", s, heard.notes)
	}
	if len(heard.restarts) < failedStarts {
		t.Errorf("restarts %+v", heard.restarts)
	}
}

// A pod that ends while a sidecar cannot start, or while an earlier one holds it back,
// starts nothing else.
func TestPodEndsWhileASidecarCannotStart(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	j := job("echo main")
	j.Spec.Template.Spec.InitContainers = []corev1.Container{
		{Name: "side", Command: []string{"/nonexistent/side"}, RestartPolicy: &always},
		{Name: "next", Command: []string{"sh", "-c", "echo next"}, RestartPolicy: &always},
	}
	none := int32(0)
	j.Spec.BackoffLimit = &none
	heard := &handyman{}
	run, err := Open(fast(j, ""), heard)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	p := new(Pod)
	heard.repair = func() { p.run.terminate() }
	if run.children, err = process.New(); err != nil {
		t.Fatal(err)
	}
	defer run.children.Close()
	run.add(p, nil)
	p.run.run()
	if s := p.run.now().status; s.Phase != batch.PodFailed {
		t.Errorf("status %+v", s)
	}
	if len(heard.lines) != 0 {
		t.Errorf("lines %q", heard.lines)
	}
}

func TestStopSignals(t *testing.T) {
	for name, want := range map[string]int{"": 15, "SIGINT": 2, "SIGUSR1": 10, "SIGRTMIN": 34, "SIGRTMIN+3": 37, "SIGRTMIN+99": 0, "SIGRTMIN+x": 0, "SIGNONE": 0} {
		c := &corev1.Container{}
		if name != "" {
			signal := corev1.Signal(name)
			c.Lifecycle = &corev1.Lifecycle{StopSignal: &signal}
		}
		if got := int(stopSignal(c)); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}
