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

// newProbes serves /healthz and /readyz, answering ok or the error.
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

// newInsight serves /metrics and, withPprof, /debug/pprof/.
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

// servers serve requests until stopped.
type servers struct {
	ctx     context.Context // for their log
	all     []*http.Server
	serving sync.WaitGroup
}

// serve serves requests at an address. If secure is not nil, it accepts only TLS.
func (s *servers) serve(address string, handler http.Handler, secure *tls.Config) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.serveOn(listener, handler, secure)
	return nil
}

// serveOn is like serve, with a listener instead of an address.
func (s *servers) serveOn(listener net.Listener, handler http.Handler, secure *tls.Config) {
	logger := klog.FromContext(s.ctx)
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, TLSConfig: secure,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(s.ctx) },
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(logger), slog.Level(-1)), // broken connections, at -v 1
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
			logger.Error(err, "server failed", "address", listener.Addr())
		}
	})
}

// stop waits for the last requests to end, and after patience cuts them off.
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
