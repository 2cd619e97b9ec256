// Package exitcode implements the condition shared by container restart rules and pod
// failure policies, which tests whether a list contains an exit code.
package exitcode

import "slices"

// The operators, as spelled in core/v1 and batch/v1.
const (
	In    = "In"
	NotIn = "NotIn"
)

// Matches reports whether code satisfies operator over values. ok is false for an
// unknown operator.
func Matches[S ~string](operator S, values []int32, code int32) (matched, ok bool) {
	return Meets(operator, slices.Contains(values, code))
}

// Meets is Matches for a code already known to be listed or not.
func Meets[S ~string](operator S, listed bool) (met, ok bool) {
	switch operator {
	case In:
		return listed, true
	case NotIn:
		return !listed, true
	}
	return false, false
}
