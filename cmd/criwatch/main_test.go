package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/pleg"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func TestWrongFlagOfCriwatchIsNamed(t *testing.T) {
	for _, x := range []struct{ args, want string }{
		{"-nope", "not defined: -nope\n"},
		{"-forr 1s", "not defined: -forr: did you mean -for?"},
		{"poll x", `only flags are taken; got ["poll" "x"]; did you mean -poll?`},
		{"pods", `only flags are taken; got ["pods"]` + "\n"},
		{"/run/x.sock", `; did you mean -endpoint /run/x.sock?`},
		{"-format yaml", `-format "yaml": must be text or json`},
		{"-relist-period 0s", "-relist-period 0s: must be above 0"},
		{"-evented-period -1s", "-evented-period -1s: must be above 0"},
		{"-stats -1s", "-stats -1s: must not be below 0"},
		{"-for -1s", "-for -1s: must not be below 0"},
		{"-stats x", `invalid value "x" for flag -stats`},
		{"-endpoint tcp://1.2.3.4:5", `endpoint "tcp://1.2.3.4:5": only unix sockets`},
		{"-endpoint run/x.sock", `endpoint "run/x.sock": must be unix:// and an absolute path`},
		{"-endpoint unix://", `endpoint "unix://": must be unix:// and an absolute path`},
	} {
		var out, errs bytes.Buffer
		code := criwatch(t.Context(), strings.Fields(x.args), &out, &errs, false)
		if code != exitBad || out.Len() > 0 || !strings.Contains(errs.String(), x.want) || !strings.Contains(errs.String(), "Try criwatch -h.") {
			t.Errorf("%s: exit code %d\n%s%s", x.args, code, &out, &errs)
		}
	}
}

func TestHelpOfCriwatchNamesEveryFlag(t *testing.T) {
	var out, errs bytes.Buffer
	if code := criwatch(t.Context(), []string{"-h"}, &out, &errs, false); code != exitEnded || errs.Len() > 0 {
		t.Errorf("exit code %d, %s", code, &errs)
	}
	for _, want := range []string{"Usage: criwatch", "Exit codes:\n  0 ", "-endpoint", "-format ", "-poll", "-relist-period", "-evented-period", "-stats", "-for"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestEndpointIsAUnixSocket(t *testing.T) {
	t.Setenv("CONTAINER_RUNTIME_ENDPOINT", "/run/other.sock")
	if o, err := parseOptions(nil, nil); err != nil || o.endpoint != "unix:///run/other.sock" {
		t.Errorf("%+v, %v", o, err)
	}
	t.Setenv("CONTAINER_RUNTIME_ENDPOINT", "")
	if o, err := parseOptions(nil, nil); err != nil || o.endpoint != findEndpoint(fileExists) {
		t.Errorf("%+v, %v", o, err)
	}
}

// Without -endpoint the runtime is looked for where runtimes have their sockets.
func TestRuntimeIsFoundWithoutItsEndpoint(t *testing.T) {
	for want, there := range map[string][]string{
		"/run/containerd/containerd.sock": {}, "/run/crio/crio.sock": {"/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock"},
		"/run/k3s/containerd/containerd.sock": {"/run/k3s/containerd/containerd.sock"}, "/run/cri-dockerd.sock": {"/run/containerd/containerd.sock", "/run/cri-dockerd.sock"},
	} {
		if got := findEndpoint(func(path string) bool { return slices.Contains(there, path) }); got != "unix://"+want {
			t.Errorf("%v: %s", there, got)
		}
	}
}

// Every error of the first connection suggests a remedy.
func TestErrorsOfTheFirstConnectionSayWhatToDo(t *testing.T) {
	folder, err := os.MkdirTemp("", "cri") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	stale, other := filepath.Join(folder, "stale"), filepath.Join(folder, "other")
	abandoned, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	abandoned.(*net.UnixListener).SetUnlinkOnClose(false)
	abandoned.Close()
	talker, err := net.Listen("unix", other) // speaks another protocol
	if err != nil {
		t.Fatal(err)
	}
	defer talker.Close()
	go func() {
		for {
			conn, err := talker.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			conn.Close()
		}
	}()
	for socket, want := range map[string]string{
		filepath.Join(folder, "none"): "; is a runtime running? -endpoint names its socket\n",
		folder:                        "; this is not a socket; -endpoint names the runtime's\n",
		stale:                         "connection refused; is the runtime running? -endpoint names its socket\n",
		other:                         "; is it the socket of a CRI runtime? -endpoint names another\n",
	} {
		var out, errs bytes.Buffer
		code := criwatch(t.Context(), []string{"-endpoint", socket}, &out, &errs, false)
		if code != exitFailed || out.Len() > 0 || !strings.HasPrefix(errs.String(), "criwatch: no CRI runtime answers at unix://"+socket+": ") || !strings.HasSuffix(errs.String(), want) {
			t.Errorf("%s: exit code %d\n%s%s", socket, code, &out, &errs)
		}
	}
	if got := adviceOf(fmt.Errorf("connect: %w", syscall.EACCES), "unix:///none"); got != "; opening it takes root, so try sudo" {
		t.Errorf("no permission: %q", got)
	}
}

func TestMissingRuntimeIsAnError(t *testing.T) {
	const socket = "/nonexistent/none.sock" // a temporary folder may be too long for a socket
	var out, errs bytes.Buffer
	code := criwatch(t.Context(), []string{"-endpoint", socket}, &out, &errs, false)
	if code != exitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "criwatch: no CRI runtime answers at unix://"+socket+": ") || !strings.Contains(errs.String(), "no such file") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
	f := newFake(t)
	f.failing["Version"] = grpcstatus.Error(codes.Unimplemented, "unknown service runtime.v1.RuntimeService")
	errs.Reset()
	if code := criwatch(t.Context(), []string{"-endpoint", f.socket}, &out, &errs, false); code != exitFailed || !strings.Contains(errs.String(), "unknown service") || !strings.Contains(errs.String(), "disabled_plugins") {
		t.Errorf("exit code %d\n%s", code, &errs)
	}
}

// A runtime's own words in an error or in the log are escaped as well.
func TestRuntimeCannotSteerTheLog(t *testing.T) {
	const evil = "\x1b[2J\nforged \u202e"
	f := newFake(t)
	f.failing["Version"] = grpcstatus.Error(codes.Unknown, evil)
	var out, errs bytes.Buffer
	if code := criwatch(t.Context(), []string{"-endpoint", f.socket}, &out, &errs, false); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	f.with(func() {
		f.failing = map[string]error{"ListContainers": grpcstatus.Error(codes.Unknown, evil), "GetContainerEvents": grpcstatus.Error(codes.Unknown, evil)}
	})
	var reported, log logBuffer
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- criwatch(ctx, []string{"-endpoint", f.socket, "-relist-period", "10ms"}, &reported, &log, false)
	}()
	programtest.Eventually(t, "it tells of the trouble", func() bool { return log.count("forged") >= 2 })
	interrupt()
	<-ended
	for _, text := range []string{errs.String(), log.String(), reported.String()} {
		if terminal.EscapeLines(text) != text || strings.Contains(text, "\nforged") || !strings.Contains(text, "criwatch") && !strings.Contains(text, "msg=") && !strings.Contains(text, "at the end") {
			t.Errorf("reported %q", text)
		}
	}
}

// Neither events nor help can be written to a full disk.
func TestUnwrittenEventIsAnError(t *testing.T) {
	f := newFake(t)
	f.runPod("a")
	for _, args := range [][]string{{"-h"}, {"-endpoint", f.socket}, {"-endpoint", f.socket, "-format", "json"}} {
		programtest.FullDisk(t, exitUnwritten, args...)
	}
}

// The whole program and its text, until it is interrupted.
func TestProgramPrintsUntilInterrupted(t *testing.T) {
	f := newFake(t)
	f.runPod("a")
	f.start("a", "a1")
	f.exit("a1", 137)
	var out, errs logBuffer
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- criwatch(ctx, []string{"-endpoint", f.socket, "-stats", "10ms", "-poll"}, &out, &errs, false)
	}()
	for _, want := range []string{"ContainerStarted", "ns/name-a ", "sandbox", "name-a1/2", "exit 137 Error at ", "  polling\n", "evented_pleg_notifications_received", "kube_pod_missed_events", "stale answers"} {
		programtest.Eventually(t, "it prints "+want, func() bool { return out.count(want) > 0 })
	}
	interrupt()
	if code := <-ended; code != exitEnded {
		t.Errorf("exit code %d", code)
	}
	if out.count("  at the end\n") != 1 {
		t.Errorf("the counters at the end are not once in\n%s", &out)
	}
	for _, want := range []string{"level=INFO msg=watching", "fake 1"} {
		if errs.count(want) == 0 {
			t.Errorf("no %q in\n%s", want, &errs)
		}
	}
}

func TestForEndsTheProgram(t *testing.T) {
	f := newFake(t)
	var out, errs bytes.Buffer
	code := criwatch(t.Context(), []string{"-endpoint", f.socket, "-for", "50ms"}, &out, &errs, false)
	if code != exitEnded || !strings.Contains(out.String(), "  at the end") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
}

// A child is the program as a process of its own, its output parsed.
type child struct {
	*programtest.Program

	mu    sync.Mutex
	part  []byte // of a line that is still to come
	lines []childLine
}

// A childLine is a line and when it was read.
type childLine struct {
	jsonLine
	read time.Time
}

func startChild(t testing.TB, args ...string) *child {
	t.Helper()
	c := &child{Program: programtest.New(t, append([]string{"-format", "json"}, args...)...)}
	c.Stdout = c
	c.Start()
	return c
}

// Write takes what the program writes.
func (c *child) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part = append(c.part, text...)
	for {
		line, rest, whole := bytes.Cut(c.part, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		l := childLine{read: time.Now()}
		if err := json.Unmarshal(line, &l.jsonLine); err != nil {
			return 0, fmt.Errorf("%q: %w", line, err)
		}
		c.part, c.lines = rest, append(c.lines, l)
	}
}

// of returns the lines of an event of a container.
func (c *child) of(container string, event pleg.EventType) (list []childLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if l.Type == event && l.Container != nil && l.Container.ID == container {
			list = append(list, l)
		}
	}
	return list
}

// end sends a signal and returns how the process ended, in words.
func (c *child) end(s syscall.Signal) string {
	c.Signal(s)
	c.Wait()
	return c.ProcessState.String()
}

// As a process: JSON lines, and a clean end on SIGINT and SIGTERM.
func TestProcessEndsCleanlyOnSignals(t *testing.T) {
	f := newFake(t)
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := startChild(t, "-endpoint", f.endpoint())
		subscribed(t, f, i+1)
		id := signal.String()
		f.runPod("pod " + id)
		f.start("pod "+id, id)
		f.exit(id, 3)
		programtest.Eventually(t, "the exit is reported", func() bool { return len(c.of(id, pleg.ContainerDied)) == 1 })
		if got := c.end(signal); got != "exit status 0" {
			t.Errorf("%v: %s", signal, got)
		}
		died := c.of(id, pleg.ContainerDied)[0]
		if died.Exit == nil || died.Exit.Code != 3 {
			t.Fatalf("%v: the exit is reported as %+v", signal, died)
		}
		// A relist that was quicker than the event knows no latency.
		if died.Latency != nil && *died.Latency <= 0 || died.Since != nil && *died.Since <= 0 || died.Pod.Name != "name-pod "+id || died.Container.Attempt != 2 {
			t.Errorf("%+v", died)
		}
		if last := c.lines[len(c.lines)-1]; last.Type != "Stats" {
			t.Errorf("%v: the last line is a %s", signal, last.Type)
		}
	}
}

// A failingWriter is a full disk.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// An output that cannot be written ends the program with an error, at an event or at
// the counters.
func TestFailedOutputEndsTheProgram(t *testing.T) {
	f := newFake(t)
	f.runPod("a")
	for _, args := range [][]string{{"-format", "text"}, {"-format", "json"}, {"-stats", "1ms"}} {
		for left := range 3 {
			limit := programtest.Patience
			if left > 0 { // what can be written may be all that there is until the end
				limit = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			var errs bytes.Buffer
			code := criwatch(ctx, append(args, "-endpoint", f.socket), &failingWriter{left}, &errs, false)
			if code != exitUnwritten && left == 0 || code == exitUnwritten && !strings.Contains(errs.String(), "criwatch: no space left") {
				t.Errorf("%v, after %d lines: exit code %d\n%s", args, left, code, &errs)
			}
			if ctx.Err() != nil && left == 0 {
				t.Errorf("%v: it went on", args)
			}
			cancel()
		}
	}
}
