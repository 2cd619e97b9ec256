package main

import (
	"flag"
	"io"
	"log/slog"
	"strconv"

	"k8s.io/klog/v2"
)

// newLogger returns a logger that writes one line per message, and makes it klog's
// logger, which client-go uses.
func newLogger(w io.Writer, format string, verbosity int) klog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(-verbosity)}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if format == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	klog.SetSlogLogger(slog.New(handler))
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("v", strconv.Itoa(verbosity)); err != nil {
		panic(err) // klog has this flag and accepts every number
	}
	return klog.Background()
}
