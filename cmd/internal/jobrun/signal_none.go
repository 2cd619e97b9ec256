//go:build !unix

package jobrun

import (
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

func stopSignal(*corev1.Container) syscall.Signal { return syscall.SIGTERM }
