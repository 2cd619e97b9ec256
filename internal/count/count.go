// Package count reads the numbers in the annotations of a Job's pods, and checks those
// of pods in a Job's status.
package count

import (
	"strconv"

	"github.com/restartkit/restart/field"
)

// Max is the highest index or failure count in an annotation.
const Max = 1<<31 - 1

// Parse returns the number in an annotation. ok reports whether it is from 0 to Max. For
// a larger number n is Max, which is no index of any Job. For a negative number, one that
// exceeds an int64, and text that is not a number, n is -1.
func Parse(text string) (n int, ok bool) {
	read, err := strconv.ParseInt(text, 10, 64)
	if err != nil || read < 0 {
		return -1, false
	}
	return int(min(read, Max)), read <= Max
}

// NotNegative adds an error about the field to errs if n is negative.
func NotNegative[T int32 | int64](errs *field.Errors, path string, n *T) {
	if n != nil && *n < 0 {
		errs.Add(field.Invalid, path, *n, "must be 0 or more")
	}
}

// CheckStatus adds an error to errs for each negative number of pods in a Job's status.
func CheckStatus(errs *field.Errors, active, succeeded, failed, ready, terminating *int32) {
	NotNegative(errs, "status.active", active)
	NotNegative(errs, "status.succeeded", succeeded)
	NotNegative(errs, "status.failed", failed)
	NotNegative(errs, "status.ready", ready)
	NotNegative(errs, "status.terminating", terminating)
}
