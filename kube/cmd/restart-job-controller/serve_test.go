package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// Probes are answered with ok, or with what is wrong.
func TestProbesSayWhatIsWrong(t *testing.T) {
	var wrong error
	h := newHandler(func() error { return wrong }, func() error { return nil }, prometheus.NewRegistry())
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
	if code, _ := get(h, "/"); code != 404 {
		t.Errorf("another path: %d", code)
	}
}

// A replica that has not read the Lease is healthy, but not ready; its counters are
// there already.
func TestNewReplicaIsNotReady(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	h := newReplica(&cluster{jobs: client, lease: client, namespace: "ns"}, o).handler()
	if code, text := get(h, "/healthz"); code != 200 {
		t.Errorf("healthy: %d %q", code, text)
	}
	if code, text := get(h, "/readyz"); code != 503 || !strings.Contains(text, "has not been read") {
		t.Errorf("ready: %d %q", code, text)
	}
	if code, text := get(h, "/metrics"); code != 200 || !strings.Contains(text, `leader_election_master_status{name="restart-job-controller"} 0`) {
		t.Errorf("metrics: %d\n%s", code, text)
	}
}

// Requests are answered until stop, and nothing of the server is left.
func TestStopEndsTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := serve(context.Background(), listener, newHandler(func() error { return nil }, func() error { return nil }, prometheus.NewRegistry()))
	url := "http://" + listener.Addr().String() + "/healthz"
	if r, err := http.Get(url); err != nil || r.StatusCode != 200 {
		t.Errorf("%v %v", r, err)
	} else {
		r.Body.Close()
	}
	stop(time.Minute)
	if _, err := http.Get(url); err == nil {
		t.Error("somebody answers after stop")
	}
}

// A request that hangs does not hold up a stop without patience.
func TestStopWithoutPatienceCutsRequestsOff(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hangs := make(chan struct{})
	stop := serve(context.Background(), listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(hangs)
		<-r.Context().Done()
	}))
	failed := make(chan error)
	go func() {
		r, err := http.Get("http://" + listener.Addr().String())
		if err == nil {
			r.Body.Close()
		}
		failed <- err
	}()
	<-hangs
	stop(0)
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}
