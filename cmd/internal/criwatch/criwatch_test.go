package criwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

func TestEndpointIsAUnixSocket(t *testing.T) {
	for text, want := range map[string]string{
		"unix:///run/x.sock": "unix:///run/x.sock",
		"/run/x.sock":        "unix:///run/x.sock",
		"tcp://1.2.3.4:5":    `endpoint "tcp://1.2.3.4:5": only unix sockets are supported: unix:///run/containerd/containerd.sock`,
		"run/x.sock":         `endpoint "run/x.sock": must be unix:// and an absolute path`,
		"unix://":            `endpoint "unix://": must be unix:// and an absolute path`,
	} {
		got, err := ParseEndpoint(text)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Without an endpoint the runtime is looked for where runtimes have their sockets.
func TestRuntimeIsFoundWithoutItsEndpoint(t *testing.T) {
	for want, there := range map[string][]string{
		"/run/containerd/containerd.sock":     {},
		"/run/crio/crio.sock":                 {"/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock"},
		"/run/k3s/containerd/containerd.sock": {"/run/k3s/containerd/containerd.sock"},
		"/run/cri-dockerd.sock":               {"/run/containerd/containerd.sock", "/run/cri-dockerd.sock"},
	} {
		if got := findEndpoint(func(path string) bool { return slices.Contains(there, path) }); got != "unix://"+want {
			t.Errorf("%v: %s", there, got)
		}
	}
}

// watchFor watches a socket and returns the output, the log and the error.
func watchFor(ctx context.Context, o Options) (out, log *logBuffer, err error) {
	out, log = &logBuffer{}, &logBuffer{}
	if o.Relist == 0 {
		o.Relist, o.Evented = time.Second, time.Hour
	}
	err = Watch(ctx, o, out, slog.New(slog.NewTextHandler(log, nil)))
	return out, log, err
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
		filepath.Join(folder, "none"): "no such file or directory; is a runtime running? --endpoint names its socket",
		folder:                        "; this is not a socket; --endpoint names the runtime's",
		stale:                         "connection refused; is the runtime running? --endpoint names its socket",
		other:                         "; is it the socket of a CRI runtime? --endpoint names another",
	} {
		out, _, err := watchFor(t.Context(), Options{Endpoint: "unix://" + socket})
		if err == nil || out.String() != "" || !strings.HasPrefix(err.Error(), "no CRI runtime answers at unix://"+socket+": ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v\n%s", socket, err, out)
		}
	}
	if got := adviceOf(fmt.Errorf("connect: %w", syscall.EACCES), "unix:///none"); got != "; opening it takes root, so try sudo" {
		t.Errorf("no permission: %q", got)
	}
	f := newFake(t)
	f.failing["Version"] = grpcstatus.Error(codes.Unimplemented, "unknown service runtime.v1.RuntimeService")
	if _, _, err := watchFor(t.Context(), Options{Endpoint: f.endpoint()}); err == nil || !strings.Contains(err.Error(), "unknown service") || !strings.Contains(err.Error(), "disabled_plugins") {
		t.Errorf("without the CRI plugin: %v", err)
	}
}

// What a runtime says is escaped in an error, in the log and in the output.
func TestRuntimeCannotSteerTheLog(t *testing.T) {
	const evil = "\x1b[2J\nforged \u202e"
	f := newFake(t)
	f.failing["Version"] = grpcstatus.Error(codes.Unknown, evil)
	if _, _, err := watchFor(t.Context(), Options{Endpoint: f.endpoint()}); err == nil || !printable(err.Error()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
	f.with(func() {
		f.failing = map[string]error{"ListContainers": grpcstatus.Error(codes.Unknown, evil), "GetContainerEvents": grpcstatus.Error(codes.Unknown, evil)}
	})
	ctx, interrupt := context.WithCancel(t.Context())
	var out, log logBuffer
	ended := make(chan error)
	go func() {
		ended <- Watch(ctx, Options{Endpoint: f.endpoint(), Relist: 10 * time.Millisecond, Evented: time.Hour}, &out, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	eventually(t, "the log has the trouble", func() bool { return log.count("forged") >= 2 })
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, text := range []string{log.String(), out.String()} {
		if !printable(text) || strings.Contains(text, "\nforged") || text == "" {
			t.Errorf("printed %q", text)
		}
	}
}

// Text until the end, and the counters.
func TestWatchPrintsUntilItsEnd(t *testing.T) {
	f := newFake(t)
	f.runPod("a")
	f.start("a", "a1")
	f.exit("a1", 137)
	var out, log logBuffer
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error)
	o := Options{Endpoint: f.endpoint(), Relist: time.Second, Evented: time.Hour, Stats: 10 * time.Millisecond, Poll: true}
	go func() { ended <- Watch(ctx, o, &out, slog.New(slog.NewTextHandler(&log, nil))) }()
	for _, want := range []string{"ContainerStarted", "ns/name-a ", "sandbox", "name-a1/2", "exit 137 Error at ", "  polling\n", "evented_pleg_notifications_received", "kube_pod_missed_events", "stale answers"} {
		eventually(t, "it prints "+want, func() bool { return out.count(want) > 0 })
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if out.count("  at the end\n") != 1 {
		t.Errorf("the counters at the end are not once in\n%s", &out)
	}
	if log.count("level=INFO msg=watching") != 1 || log.count("fake 1") != 1 {
		t.Errorf("log\n%s", &log)
	}
}

// A watch ends by itself, and prints the counters.
func TestForEndsTheWatch(t *testing.T) {
	f := newFake(t)
	if out, _, err := watchFor(t.Context(), Options{Endpoint: f.endpoint(), For: 50 * time.Millisecond}); err != nil || out.count("  at the end") != 1 {
		t.Errorf("%v\n%s", err, out)
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
	f.runPod("b")
	for _, o := range []Options{{Format: "text"}, {Format: "json"}, {Stats: time.Millisecond}} {
		for left := range 2 { // each pod makes a write
			o.Endpoint, o.Relist, o.Evented = f.endpoint(), time.Second, time.Hour
			err := Watch(t.Context(), o, &failingWriter{left}, slog.New(slog.NewTextHandler(io.Discard, nil)))
			if !errors.Is(err, ErrOutput) || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("%+v, after %d writes: %v", o, left, err)
			}
		}
	}
}

// A state that cannot be used is an error that says why, before anything is printed.
func TestUnusableStateIsAnError(t *testing.T) {
	f := newFake(t)
	file := filepath.Join(t.TempDir(), "state.json")
	for content, want := range map[string]string{
		"x":                                      "invalid character",
		`{"endpoint": "unix:///other"}`:          "it is that of unix:///other, not of " + f.endpoint(),
		`{"endpoint": "E", "pods": {"a": null}}`: "nothing is known of pod a",
		`{"endpoint": "E", "pods": {"a": {"containers": {"b": null}}}}`: "nothing is known of container b",
		`{"endpoint": "E", "position": {"lost": -1}}`:                   "lost",
	} {
		if err := os.WriteFile(file, bytes.ReplaceAll([]byte(content), []byte(`"E"`), []byte(`"`+f.endpoint()+`"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _, err := watchFor(t.Context(), Options{Endpoint: f.endpoint(), State: file})
		if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) || out.String() != "" {
			t.Errorf("%s: %v\n%s", content, err, out)
		}
	}
	f.runPod("a")
	_, _, err := watchFor(t.Context(), Options{Endpoint: f.endpoint(), State: filepath.Join(t.TempDir(), "missing", "state.json")})
	if !errors.Is(err, ErrState) {
		t.Errorf("a state without a folder: %v", err)
	}
}
