package jobpolicy

import "github.com/restartkit/restart/jobpolicy/batch"

// known are the pods that the Input says something of beside Pods, by identity.
type known struct {
	uncountedSucceeded, uncountedFailed map[string]bool // by the status
	released                            map[string]bool // by the caller
	counted, handled                    map[string]bool // by the state; what the status names is not counted
}

func newKnown(in Input) known {
	var u batch.UncountedTerminatedPods
	if uncounted := in.Job.Status.UncountedTerminatedPods; uncounted != nil {
		u = *uncounted
	}
	return known{setOf(u.Succeeded), setOf(u.Failed), setOf(in.FinalizersRemoved), setOf(in.State.Released), setOf(in.State.Handled)}
}

func setOf(uids []string) map[string]bool {
	m := make(map[string]bool, len(uids))
	for _, uid := range uids {
		m[uid] = true
	}
	return m
}
