package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/kube/testenv"
)

// outcome reads a pod's annotations. It reports and ignores invalid ones.
func (s *session) outcome(pod *corev1.Pod) testenv.Outcome {
	o := testenv.Outcome{Run: s.run, Pending: pod.Namespace == "kube-system"}
	if text, ok := pod.Annotations["testenv/run"]; ok {
		if d, err := time.ParseDuration(text); err == nil {
			o.Run = d
		} else {
			fmt.Fprintf(s.stderr, "testenv: pod %s/%s: testenv/run: %v\n", pod.Namespace, pod.Name, err)
		}
	}
	if text, ok := pod.Annotations["testenv/exit"]; ok {
		for field := range strings.SplitSeq(text, ",") {
			code, err := strconv.ParseInt(strings.TrimSpace(field), 10, 32)
			if err != nil {
				fmt.Fprintf(s.stderr, "testenv: pod %s/%s: testenv/exit: %v\n", pod.Namespace, pod.Name, err)
				break
			}
			o.ExitCodes = append(o.ExitCodes, int32(code))
		}
	}
	return o
}
