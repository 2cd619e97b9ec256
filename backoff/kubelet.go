package backoff

import "time"

// kubeletSync is the default of syncFrequency in the KubeletConfiguration, and
// kubeletTick the period at which a kubelet looks for pods that are due.
const (
	kubeletSync = time.Minute
	kubeletTick = time.Second
)

// KubeletRestart returns the window after an exit in which a kubelet restarts the
// container, given the delay of its curve and its syncFrequency. A syncFrequency of 0
// or less means the default of 1 minute, and a negative delay counts as 0. The window
// includes both ends.
//
// No restart comes before the delay is over. A kubelet then looks at the pod up to half
// of the delay later, or half of its syncFrequency if that is shorter, because it adds
// jitter to the time until its next look. Another second passes until it finds that the
// pod is due (Kubernetes 1.37, pkg/kubelet/pod_workers.go, completeWork). Creating and
// starting the container takes more time, and so does a busy machine.
func KubeletRestart(delay, syncFrequency time.Duration) Window {
	delay = max(delay, 0)
	if syncFrequency <= 0 {
		syncFrequency = kubeletSync
	}
	return Window{
		From: delay,
		To:   addDuration(addDuration(delay, min(delay, syncFrequency)/2), kubeletTick),
	}
}
