package main

import (
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// stateVersion is the number of the format of a state. Version 1 had no checksum.
const stateVersion = 2

// state is what a run leaves for the next one: all input of its decisions, and the
// attempts in progress.
type state struct {
	Run    string             `json:"run"`  // identifies its processes
	Step   int64              `json:"step"` // counts the states of a run
	Job    *batch.Job         `json:"job"`  // with its status
	Fields jobfile.EnvSources `json:"fields"`
	Memory jobpolicy.State    `json:"memory,omitzero"`
	Pods   []savedPod         `json:"pods,omitempty"`
	// Suspended are pods that an interruption has ended: for the Job they are gone,
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
