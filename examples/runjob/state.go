package main

import (
	"github.com/restartkit/restart/jobpolicy"
)

// state is what a run leaves to the next one: all that the decisions are made
// from, and the attempts that are being made.
type state struct {
	Run    string           `json:"run"`  // by this its processes are known
	Step   int64            `json:"step"` // counts the states of a run
	Job    *jobpolicy.Job   `json:"job"`  // with its status
	Fields envSources       `json:"fields"`
	Memory jobpolicy.Memory `json:"memory,omitzero"`
	Pods   []savedPod       `json:"pods,omitempty"`
	// Suspended are pods that an interruption has ended: for the Job they are
	// gone, the next run begins them anew.
	Suspended []savedPod `json:"suspended,omitempty"`
}

// savedPod is a pod without what its Job's template says of it.
type savedPod struct {
	Metadata jobpolicy.ObjectMeta `json:"metadata"`
	Index    int                  `json:"index"`
	Attempt  int                  `json:"attempt"`
	Status   jobpolicy.PodStatus  `json:"status"`
}
