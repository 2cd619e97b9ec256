package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
)

// longestPause exceeds the time between two notes of progress if all calls to the runtime
// end at their deadlines.
const longestPause = 5 * time.Minute

// The parts that must be in order before the program can do its work.
const (
	partPods    = "pods"
	partRuntime = "container runtime"
	partNode    = "node"
)

// health is the state that the probes report. It is safe for concurrent use.
type health struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	progressed time.Time // when the agent last made progress
	troubles   map[string]error
}

func newHealth(c clock.PassiveClock) *health {
	return &health{clock: c, progressed: c.Now(), troubles: make(map[string]error)}
}

// progress notes that the agent begins a turn, or a change of the runtime in it.
func (h *health) progress() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progressed = h.clock.Now()
}

// set records an error of a part, or that it works.
func (h *health) set(part string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.troubles[part] = err; err == nil {
		delete(h.troubles, part)
	}
}

// live returns an error if the agent makes no progress any more, so only a restart can help.
func (h *health) live() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.clock.Since(h.progressed); d > longestPause {
		return fmt.Errorf("no progress for %v", d.Round(time.Second))
	}
	return nil
}

// ready returns an error that names each part which is not in order.
func (h *health) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, part := range slices.Sorted(maps.Keys(h.troubles)) {
		errs = append(errs, fmt.Errorf("%s: %w", part, h.troubles[part]))
	}
	return errors.Join(errs...)
}

// probes serves /healthz and /readyz.
func (h *health) probes() http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]func() error{"/healthz": h.live, "/readyz": h.ready} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			if err := check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
	return mux
}

// metricsHandler serves /metrics.
func metricsHandler(m *metrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// serveHTTP serves at the address of a flag until end is called. The address 0 means not to.
func serveHTTP(name, address string, h http.Handler) (end func(), err error) {
	if address == "0" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", name, err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go s.Serve(l)
	return func() { s.Close() }, nil
}
