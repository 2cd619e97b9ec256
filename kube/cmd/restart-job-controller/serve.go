package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"
)

// newHandler answers /healthz and /readyz with ok, or with what is wrong, and /metrics.
func newHandler(healthy, ready func() error, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(healthy))
	mux.HandleFunc("GET /readyz", answer(ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
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

// serve answers requests until stop is called, which returns when the last one has
// ended. Those that take longer than its patience are cut off.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) (stop func(patience time.Duration)) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	logger := klog.FromContext(ctx)
	logger.Info("listening", "address", listener.Addr())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			logger.Error(err, "nobody answers any more", "address", listener.Addr())
		}
	})
	return func(patience time.Duration) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		serving.Wait()
	}
}
