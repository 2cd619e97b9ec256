package jobpolicy

import "github.com/restartkit/restart/jobpolicy/batch"

// known holds the pods, by identity, that the Input names outside Pods.
type known struct {
	uncountedSucceeded, uncountedFailed map[string]bool // in the status
	released                            map[string]bool // by the caller
	counted, handled                    map[string]bool // in the state; counted excludes pods named by the status
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
