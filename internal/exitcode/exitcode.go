// Package exitcode holds the one test that container restart rules and pod
// failure policies share: whether an exit code is in, or not in, a list.
package exitcode

import "slices"

// The operators, as spelled in core/v1 and batch/v1.
const (
	In    = "In"
	NotIn = "NotIn"
)

// Matches reports whether code satisfies operator over values. Values may be in
// any order and repeat. In over no values matches nothing, NotIn over no values
// everything. ok is false for an unknown operator, which matches nothing.
func Matches[S ~string](operator S, values []int32, code int32) (matched, ok bool) {
	return Meets(operator, slices.Contains(values, code))
}

// Meets is Matches for a code of which it is known whether it is listed.
func Meets[S ~string](operator S, listed bool) (met, ok bool) {
	switch operator {
	case In:
		return listed, true
	case NotIn:
		return !listed, true
	}
	return false, false
}
