package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the program's own.
type metrics struct {
	registry        *prometheus.Registry
	removed, poked  prometheus.Counter
	pruned          prometheus.Counter
	refused, errors *prometheus.CounterVec
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "sooner_" + name + "_total", Help: help})
	}
	vector := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sooner_" + name + "_total", Help: help}, []string{label})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		removed:  counter("removed", "Removed container records, each of which starts its container."),
		poked:    counter("poked", "Pokes that made the kubelet look at a pod."),
		pruned:   counter("pruned_logs", "Removed log files of earlier attempts."),
		refused:  vector("refused", "Exited containers left to the kubelet or held for a time, by reason.", "reason"),
		errors:   vector("errors", "Failed calls, by call.", "call"),
	}
	m.registry.MustRegister(m.removed, m.poked, m.pruned, m.refused, m.errors, collectors.NewBuildInfoCollector(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}
