package backoff

import "time"

// CrashLoop returns the kubelet's curve for crashing containers: 10s, 20s, 40s, …
// 300s, started over by a run of more than 10 minutes. Source: KEP-4603, Summary.
func CrashLoop() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second, ResetAfter: 10 * time.Minute}
}

// ReducedCrashLoop returns the curve behind the gate
// ReduceDefaultCrashLoopBackOffDecay: 1s to 60s, started over by a run of more
// than 10 minutes. Source: KEP-4603, Existing backoff curve change.
func ReducedCrashLoop() Policy {
	return Policy{Initial: time.Second, Max: 60 * time.Second, ResetAfter: 10 * time.Minute}
}

// ImagePull returns the kubelet's curve for failed image pulls: 10s to 300s,
// started over after twice the maximum. Source: KEP-4603, Relationship with
// ImagePullBackOff.
func ImagePull() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second}
}

// JobPod returns the Job controller's curve for replacing failed pods: 10s to
// 10 minutes. Source: KEP-3850, Exponential backoff delay issue; the maximum is
// the controller's.
func JobPod() Policy {
	return Policy{Initial: 10 * time.Second, Max: 10 * time.Minute}
}
