package jobruns

import (
	"github.com/restartkit/restart/internal/vectors/shape"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Scenario is a Job and the script of its pods' ends.
type Scenario struct {
	Name   string        `json:"name"`
	Spec   batch.JobSpec `json:"spec"`
	Script struct {
		Index   map[int][]attempt `json:"index"`
		Pods    []attempt         `json:"pods"`
		Default []attempt         `json:"default"`
	} `json:"script"`
	PickFirst       []int  `json:"pickFirst"`
	Order           string `json:"order"`
	TerminationStep bool   `json:"terminationStep"`
	BackoffBaseMs   int    `json:"backoffBaseMs"`
	BackoffMaxMs    int    `json:"backoffMaxMs"`
	Note            string `json:"note"`
}

type attempt struct {
	ExitCode       int32                `json:"exitCode"`
	Hang           bool                 `json:"hang"`
	Containers     []container          `json:"containers"`
	InitContainers []container          `json:"initContainers"`
	Phase          batch.PodPhase       `json:"phase"`
	Evict          bool                 `json:"evict"`
	Conditions     []batch.PodCondition `json:"conditions"`
	OnKill         *int32               `json:"onKill"`
}

type container struct {
	Name     string `json:"name"`
	ExitCode int32  `json:"exitCode"`
	Running  bool   `json:"running"`
}

func (s *Scenario) UnmarshalJSON(data []byte) error {
	type plain Scenario
	return shape.StrictJSON(data, (*plain)(s))
}
