package pleg

import (
	"context"
	"fmt"
	"time"
)

// A call is a call of the Runtime to make.
type call[K comparable] struct {
	kind     callKind
	pod      K
	start    time.Time
	deadline time.Time
}

type callKind int

const (
	callPods callKind = iota
	callPod
	callStatus
)

func (k callKind) String() string { return [...]string{"Pods", "Pod", "Status"}[k] }

// lateError returns the error for a call cancelled at its deadline.
func (c call[K]) lateError(o GeneratorOptions) error {
	if c.kind == callPods {
		return fmt.Errorf("pleg: Pods: no answer within %v: %w", o.RelistThreshold, context.DeadlineExceeded)
	}
	return fmt.Errorf("pleg: %v(%v): no answer within %v: %w", c.kind, c.pod, o.StatusTimeout, context.DeadlineExceeded)
}

// A result holds the results of a call.
type result[K comparable, S any] struct {
	call   call[K]
	pods   []Pod[K] // one for callPod
	status S
	stamp  time.Time
	err    error
}
