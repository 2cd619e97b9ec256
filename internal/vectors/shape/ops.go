package shape

import "github.com/restartkit/restart/jobpolicy/batch"

// Ops is the input of index bookkeeping, a union of the inputs of its kinds.
type Ops struct {
	Completions        int32                      `json:"completions"`
	Limit              *int32                     `json:"limit"`
	Policy             *Policy                    `json:"policy"`
	Replacement        batch.PodReplacementPolicy `json:"replacement"`
	Pods               []*Pod                     `json:"pods"`
	Pod                *Pod                       `json:"pod"`
	Replaced           *Pod                       `json:"replaced"`
	Untracking         []string                   `json:"untracking"`
	Previous           *string                    `json:"previous"`
	Count              int                        `json:"count"`
	Active             []*string                  `json:"active"`
	Terminating        []*string                  `json:"terminating"`
	Succeeded          string                     `json:"succeeded"`
	Failed             *string                    `json:"failed"`
	Name               string                     `json:"name"`
	Index              int                        `json:"index"`
	Raw                *string                    `json:"raw"`
	Completed          string                     `json:"completed"`
	StatusSucceeded    int32                      `json:"status_succeeded"`
	StatusFailed       int32                      `json:"status_failed"`
	UncountedSucceeded []string                   `json:"uncounted_succeeded"`
	UncountedFailed    []string                   `json:"uncounted_failed"`
}

// Job returns an Indexed Job with the input's limits.
func (in *Ops) Job() *batch.Job {
	return &batch.Job{Spec: batch.JobSpec{
		CompletionMode: batch.IndexedCompletion, Completions: &in.Completions, BackoffLimitPerIndex: in.Limit,
		PodFailurePolicy: in.Policy.Batch(), PodReplacementPolicy: in.Replacement,
	}}
}
