package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/fake"
)

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// listen returns a listener at an unused address, and the address.
func listen(t testing.TB) (net.Listener, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener, listener.Addr().String()
}

// Probes answer with ok or the error.
func TestProbesSayWhatIsWrong(t *testing.T) {
	var wrong error
	h := newProbes(func() error { return wrong }, func() error { return nil })
	if code, text := get(h, "/healthz"); code != 200 || text != "ok\n" {
		t.Errorf("healthy: %d %q", code, text)
	}
	wrong = errors.New("the Lease is old")
	if code, text := get(h, "/healthz"); code != 503 || text != "the Lease is old\n" {
		t.Errorf("not healthy: %d %q", code, text)
	}
	if code, _ := get(h, "/readyz"); code != 200 {
		t.Errorf("ready, though not healthy: %d", code)
	}
	for _, path := range []string{"/", "/metrics", "/debug/pprof/"} {
		if code, _ := get(h, path); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// Profiles are served only on request.
func TestProfilesAreServedIfWanted(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		h := newInsight(prometheus.NewRegistry(), wanted)
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
			if code, text := get(h, path); (code == 200) != wanted {
				t.Errorf("%v, %s: %d %s", wanted, path, code, text)
			}
		}
	}
}

// A replica that has not read the Lease is healthy but not ready, and serves its
// counters.
func TestNewReplicaIsNotReady(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	r := newReplica(&cluster{jobs: client, lease: client, namespace: "ns"}, o)
	h := newProbes(r.healthy, r.ready)
	if code, text := get(h, "/healthz"); code != 200 {
		t.Errorf("healthy: %d %q", code, text)
	}
	if code, text := get(h, "/readyz"); code != 503 || !strings.Contains(text, "Lease") {
		t.Errorf("ready: %d %q", code, text)
	}
	code, text := get(r.insight(), "/metrics")
	for _, want := range []string{
		`leader_election_master_status{name="restart-job-controller"} 0`,
		`restart_job_controller_build_info{git_commit="` + thisBuild().revision + `",git_version="` + thisBuild().version + `",go_version="` + runtime.Version() + `",platform="` + runtime.GOOS + "/" + runtime.GOARCH + `"} 1`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if code != 200 || !strings.Contains(text, "\n"+want) {
			t.Errorf("metrics: %d, without %s\n%s", code, want, text)
		}
	}
}

// The server answers requests until stop, and leaves nothing behind.
func TestStopEndsTheServer(t *testing.T) {
	listener, address := listen(t)
	s := servers{ctx: context.Background()}
	s.serveOn(listener, newProbes(func() error { return nil }, func() error { return nil }), nil)
	url := "http://" + address + "/healthz"
	if r, err := http.Get(url); err != nil || r.StatusCode != 200 {
		t.Errorf("%v %v", r, err)
	} else {
		r.Body.Close()
	}
	s.stop(time.Minute)
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("stop has left the listener open: %v", err)
	}
}

// A hanging request does not delay a stop without patience.
func TestStopWithoutPatienceCutsRequestsOff(t *testing.T) {
	listener, address := listen(t)
	s := servers{ctx: context.Background()}
	hangs := make(chan struct{})
	s.serveOn(listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(hangs)
		<-r.Context().Done()
	}), nil)
	failed := make(chan error)
	go func() {
		r, err := http.Get("http://" + address)
		if err == nil {
			r.Body.Close()
		}
		failed <- err
	}()
	<-hangs
	s.stop(0)
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}
