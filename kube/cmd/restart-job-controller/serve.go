package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"
)

// newProbes answers /healthz and /readyz with ok, or with what is wrong.
func newProbes(healthy, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(healthy))
	mux.HandleFunc("GET /readyz", answer(ready))
	return mux
}

func answer(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// newInsight answers /metrics and, withPprof, what is below /debug/pprof/.
func newInsight(metrics prometheus.Gatherer, withPprof bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	if withPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// servers answer requests until they are stopped.
type servers struct {
	ctx     context.Context // of their log
	all     []*http.Server
	serving sync.WaitGroup
}

// serve listens at an address, and answers what is asked there. With secure it takes TLS
// alone.
func (s *servers) serve(address string, handler http.Handler, secure *tls.Config) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	logger := klog.FromContext(s.ctx)
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, TLSConfig: secure,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(s.ctx) },
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(logger), slog.Level(-1)), // of broken connections: -v 1
	}
	logger.Info("listening", "address", listener.Addr(), "tls", secure != nil)
	s.all = append(s.all, server)
	s.serving.Go(func() {
		var err error
		if secure != nil {
			err = server.ServeTLS(listener, "", "")
		} else {
			err = server.Serve(listener)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "nobody answers any more", "address", listener.Addr())
		}
	})
	return nil
}

// stop returns when the last request has ended. Those that take longer than its patience
// are cut off.
func (s *servers) stop(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
	defer cancel()
	for _, server := range s.all {
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
	}
	s.serving.Wait()
}
