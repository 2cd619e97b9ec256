package main

import (
	"sync"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// host holds the state shared by all pods.
type host struct {
	children *process.Children
	output   *output
	store    *store   // nil to persist nothing
	machine  []string // environment of every process
	sources  jobfile.EnvSources
	config   config
	restarts *backoff.Restarter[string] // of containers inside a pod
	publish  func(uid string, status *batch.PodStatus)
	event    func(pod, format string, args ...any) // prints an event of a pod
	started  func(pod *podRun, at time.Time)       // records the first process of a pod
	again    func(pod *podRun, container string, restart int, e exit, delay time.Duration)
	shortage sync.Once // reports only the first wait of a process
}
