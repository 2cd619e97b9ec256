//go:build long

package criwatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/kube/testenv"
	"github.com/restartkit/restart/pleg"
)

// Ten watches with one state and one output are killed in turn, and containerd three times
// among them. In each round 25 containers exit, some before the kills, some while containerd
// is down, and some while no watch runs. The output has each exit once, with the code that
// the container was made with, and each start and removal in its place. Of an exit while it
// was down, containerd reports 255.
func TestContainerdAndWatchesAreKilledAndEveryExitIsToldOnce(t *testing.T) {
	const containers = 25
	rounds := []struct {
		told       int  // exits of this round that the watch has told when it is killed
		containerd bool // killed in this round
		both       bool // the watch is killed while containerd is down
	}{
		{told: 0}, {told: 1}, {told: 12, containerd: true}, {told: 3}, {told: 16},
		{containerd: true, both: true}, {told: 7}, {told: 2}, {told: 9, containerd: true}, {told: 14},
	}
	runtime := testenv.StartContainerdForTest(t, testenv.Options{Log: os.Stderr})
	socket := strings.TrimPrefix(runtime.CRISocket(), "unix://")
	w := newWatches(t, runtime.CRISocket())
	pods := newRealPods(t, runtime)
	var whileDown, whileUnwatched, watchKills, runtimeKills int
	var last *realPod
	for i, round := range rounds {
		w.start()
		pod := pods.run(i, containers)
		waiting := pod.containers
		release := func(n int) {
			pods.release(waiting[:n])
			waiting = waiting[n:]
		}
		if last != nil { // all of its containers have exited
			eventually(t, "the exits of the last round are told", func() bool { return w.told(last.containers) == containers })
			pods.remove(last)
		}
		if round.containerd {
			runtimeKills++
			restarted := make(chan error, 1)
			go func() { restarted <- runtime.RestartContainerd(t.Context()) }()
			eventually(t, "containerd is down", func() bool { return !accepts(socket) })
			for _, c := range waiting[:5] {
				f := pods.fates[c.id]
				f.missed = true
				pods.fates[c.id] = f
			}
			release(5)
			whileDown += 5
			if round.both {
				w.kill()
				watchKills++
			}
			if err := <-restarted; err != nil {
				t.Fatal(err)
			}
			pods.awaitRuntime()
		}
		if !round.both {
			release(len(waiting) - 5)
			eventually(t, "exits of this round are told", func() bool { return w.told(pod.containers) >= round.told })
			w.kill()
			watchKills++
		}
		whileUnwatched += len(waiting)
		release(len(waiting))
		last = pod
	}
	w.start()
	eventually(t, "the exits of the last round are told", func() bool { return w.told(last.containers) == containers })
	pods.remove(last)
	eventually(t, "the removal of the last pod is told", func() bool { return w.output(t).has(last.id, pleg.ContainerRemoved) })
	w.stop()

	exits := map[pleg.ExitSource]int{}
	output := w.output(t)
	for _, l := range output.lines {
		if l.event == pleg.ContainerDied && !l.sandbox() {
			exits[l.source]++
		}
	}
	output.check(t, pods.fates)
	if exits[pleg.ExitShown]+exits[pleg.ExitToldByEvent]+exits[pleg.ExitInferred] != len(rounds)*containers {
		t.Errorf("exits by source: %v", exits)
	}
	if running(socket) == 0 {
		t.Error("no process of containerd is found while it runs")
	}
	if err := runtime.Stop(); err != nil {
		t.Error(err)
	}
	if n := running(socket); n > 0 { // also no shim that a restarted containerd forgot
		t.Errorf("%d processes are left", n)
	}
	t.Logf("%d exits of %d pods, %d of them while containerd was down, %d while no watch ran", len(rounds)*containers, len(rounds), whileDown, whileUnwatched)
	t.Logf("%d kills of the watch, %d of containerd; %d lines in the output; exits by source: %v", watchKills, runtimeKills, len(output.lines), exits)
}

// watches are programs that run one after the other with the same state and output.
type watches struct {
	t      *testing.T
	args   []string
	dir    string
	cmd    *exec.Cmd // the one that runs, or nil
	starts int

	read  int64 // bytes of the output that are in lines
	lines recorder
}

func newWatches(t *testing.T, endpoint string) *watches {
	w := &watches{t: t, dir: t.TempDir()}
	program := filepath.Join(w.dir, "restart")
	if text, err := exec.Command("go", "build", "-o", program, "github.com/restartkit/restart/cmd/restart").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	w.args = []string{program, "watch", "-o", "json", "--endpoint", endpoint, "--state", filepath.Join(w.dir, "state"), "--for", "1h"}
	t.Cleanup(func() {
		if w.cmd != nil {
			w.kill()
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(w.dir, "log"))
			t.Logf("the log of the watches:\n%s", log)
		}
	})
	return w
}

// start starts the next watch and waits until it has connected.
func (w *watches) start() {
	w.t.Helper()
	open := func(name string) *os.File {
		file, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			w.t.Fatal(err)
		}
		return file
	}
	output, log := open("output"), open("log")
	defer output.Close()
	defer log.Close()
	w.cmd = exec.Command(w.args[0], w.args[1:]...)
	w.cmd.Stdout, w.cmd.Stderr = output, log
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.starts++
	eventually(w.t, "the watch has connected", func() bool {
		text, err := os.ReadFile(log.Name())
		return err == nil && bytes.Count(text, []byte("msg=watching ")) == w.starts
	})
}

// kill kills the watch, which must not have ended by itself.
func (w *watches) kill() {
	w.t.Helper()
	err := w.cmd.Process.Kill()
	w.cmd.Wait()
	if s, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); err != nil || !ok || s.Signal() != syscall.SIGKILL {
		w.t.Errorf("the watch was not killed: %v, %v", err, w.cmd.ProcessState)
	}
	w.cmd = nil
}

// stop ends the watch with a signal.
func (w *watches) stop() {
	w.t.Helper()
	err := w.cmd.Process.Signal(syscall.SIGTERM)
	if err := errors.Join(err, w.cmd.Wait()); err != nil {
		w.t.Error(err)
	}
	w.cmd = nil
}

// output returns the complete lines of the output so far.
func (w *watches) output(t *testing.T) *recorder {
	t.Helper()
	file, err := os.Open(filepath.Join(w.dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, w.read, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return &w.lines
		}
		var j jsonLine
		if err := json.Unmarshal(text[:end], &j); err != nil {
			t.Fatalf("%q: %v", text[:end], err)
		}
		if j.Pod != nil && j.Container != nil {
			l := line{event: j.Type, pod: j.Pod.ID, container: j.Container.ID, source: j.Source}
			if j.Exit != nil {
				l.exit = &pleg.ExitDetails{Code: j.Exit.Code}
			}
			w.lines.lines = append(w.lines.lines, l)
		}
		text, w.read = text[end+1:], w.read+int64(end)+1
	}
}

// told returns how many of the containers have exited by the output.
func (w *watches) told(containers []realContainer) (n int) {
	died := map[string]bool{}
	for _, l := range w.output(w.t).lines {
		died[l.container] = died[l.container] || l.event == pleg.ContainerDied
	}
	for _, c := range containers {
		if died[c.id] {
			n++
		}
	}
	return n
}

// realPods are pods of a containerd, whose containers wait at a gate each, and then exit.
type realPods struct {
	t      *testing.T
	client cri.RuntimeServiceClient
	parent string // cgroup
	gates  string // folder of named pipes
	fates  map[string]fate
}

type realPod struct {
	id         string
	containers []realContainer
}

type realContainer struct{ id, gate string }

func newRealPods(t *testing.T, runtime *testenv.Containerd) *realPods {
	conn, err := dial(runtime.CRISocket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &realPods{t: t, client: cri.NewRuntimeServiceClient(conn), parent: runtime.CgroupParent(), gates: t.TempDir(), fates: map[string]fate{}}
	p.awaitRuntime()
	images := cri.NewImageServiceClient(conn)
	for _, image := range []string{testenv.Busybox, testenv.Pause} {
		eventually(t, "containerd has the image "+image, func() bool {
			answer, err := images.ImageStatus(t.Context(), &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: image}})
			return err == nil && answer.Image != nil
		})
	}
	return p
}

// awaitRuntime waits until containerd answers.
func (p *realPods) awaitRuntime() {
	p.t.Helper()
	eventually(p.t, "containerd answers", func() bool {
		_, err := p.client.ListContainers(p.t.Context(), &cri.ListContainersRequest{})
		return err == nil
	})
}

// run runs the i-th pod and starts its containers. Each of all pods has an exit code of its own.
func (p *realPods) run(i, containers int) *realPod {
	p.t.Helper()
	ctx := p.t.Context()
	config := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: fmt.Sprint("pod-", i), Namespace: "default", Uid: fmt.Sprint("uid-", i)},
		Linux:    &cri.LinuxPodSandboxConfig{CgroupParent: p.parent},
	}
	sandbox, err := p.client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})
	if err != nil {
		p.t.Fatal(err)
	}
	pod := &realPod{id: sandbox.PodSandboxId}
	p.fates[pod.id] = fate{}
	for n := range containers {
		code := i*containers + n + 1
		gate := fmt.Sprint("gate-", code)
		if err := syscall.Mkfifo(filepath.Join(p.gates, gate), 0o600); err != nil {
			p.t.Fatal(err)
		}
		made, err := p.client.CreateContainer(ctx, &cri.CreateContainerRequest{
			PodSandboxId:  pod.id,
			SandboxConfig: config,
			Config: &cri.ContainerConfig{
				Metadata: &cri.ContainerMetadata{Name: fmt.Sprint("c-", n)},
				Image:    &cri.ImageSpec{Image: testenv.Busybox},
				Command:  []string{"sh", "-c", fmt.Sprintf("read line </gates/%s; exit %d", gate, code)},
				Mounts:   []*cri.Mount{{ContainerPath: "/gates", HostPath: p.gates}},
				Linux:    &cri.LinuxContainerConfig{},
			},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := p.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId}); err != nil {
			p.t.Fatal(err)
		}
		pod.containers = append(pod.containers, realContainer{made.ContainerId, gate})
		p.fates[made.ContainerId] = fate{exited: true, code: int32(code)}
	}
	return pod
}

// release lets containers exit.
func (p *realPods) release(containers []realContainer) {
	p.t.Helper()
	for _, c := range containers {
		eventually(p.t, c.gate+" has a reader", func() bool {
			gate, err := os.OpenFile(filepath.Join(p.gates, c.gate), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				gate.Close()
			}
			return err == nil
		})
	}
}

// remove stops and removes a pod with its containers.
func (p *realPods) remove(pod *realPod) {
	p.t.Helper()
	if _, err := p.client.StopPodSandbox(p.t.Context(), &cri.StopPodSandboxRequest{PodSandboxId: pod.id}); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.client.RemovePodSandbox(p.t.Context(), &cri.RemovePodSandboxRequest{PodSandboxId: pod.id}); err != nil {
		p.t.Fatal(err)
	}
	p.fates[pod.id] = fate{exited: true, removed: true}
	for _, c := range pod.containers {
		f := p.fates[c.id]
		f.removed = true
		p.fates[c.id] = f
	}
}

// accepts reports whether somebody listens at a socket.
func accepts(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// running returns how many processes run in whose command line the folder of the socket is.
func running(socket string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		if bytes.Contains(text, []byte(filepath.Dir(socket))) {
			n++
		}
	}
	return n
}
