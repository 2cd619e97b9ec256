package backoff

import "time"

// CrashLoop returns the kubelet's curve for crashing containers: 10s, 20s, 40s, … 300s.
// A run longer than 10 minutes starts it over (KEP-4603, Summary).
func CrashLoop() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second, ResetAfter: 10 * time.Minute}
}

// ReducedCrashLoop returns the curve under the feature gate
// ReduceDefaultCrashLoopBackOffDecay, from 1s to 60s. A run longer than 10 minutes
// starts it over (KEP-4603, Existing backoff curve change).
func ReducedCrashLoop() Policy {
	return Policy{Initial: time.Second, Max: 60 * time.Second, ResetAfter: 10 * time.Minute}
}

// ImagePull returns the kubelet's curve for failed image pulls, from 10s to 300s
// (KEP-4603, Relationship with ImagePullBackOff).
func ImagePull() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second}
}

// JobPod returns the Job controller's curve for replacing failed pods, from 10s
// (KEP-3850, Exponential backoff delay issue) to the controller's maximum of 10
// minutes.
func JobPod() Policy {
	return Policy{Initial: 10 * time.Second, Max: 10 * time.Minute}
}
