package main

import (
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// stateVersion is the version of the state's format. Version 1 had no checksum.
const stateVersion = 2

// state is saved for the next run. It holds all input of the decisions, and the
// attempts in progress.
type state struct {
	Run    string             `json:"run"`  // identifies its processes
	Step   int64              `json:"step"` // counts the states of a run
	Job    *batch.Job         `json:"job"`  // with its status
	Fields jobfile.EnvSources `json:"fields"`
	Memory jobpolicy.State    `json:"memory,omitzero"`
	Pods   []savedPod         `json:"pods,omitempty"`
	// Suspended holds the pods ended by an interruption. The Job no longer has them;
	// the next run starts them again.
	Suspended []savedPod `json:"suspended,omitempty"`
}

// savedPod is a pod without its spec, which is the Job's template.
type savedPod struct {
	Metadata batch.ObjectMeta `json:"metadata"`
	Index    int              `json:"index"`
	Attempt  int              `json:"attempt"`
	Status   batch.PodStatus  `json:"status"`
}
