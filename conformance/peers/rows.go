// Package peers measures this library against its peers and checks that it agrees
// with them: client-go's flowcontrol.Backoff, the kubelet's pod cache, the API
// server's Job validation, the Job controller's evaluation of policies, roaring
// and bits-and-blooms bitmaps.
//
// The rows of each package are in <package>_rows.go, the differential tests in
// <package>_test.go. Package bench explains how to add a row.
package peers

import (
	"slices"

	"github.com/restartkit/restart/conformance/peers/bench"
)

// Rows are all rows, in the order of the report.
func Rows() []bench.Row {
	return slices.Concat(
		backoffRows(),
		indexsetRows(),
		jobpolicyRows(),
		plegRows(),
	)
}

// ours is the name of our candidate in every row.
const ours = "ours"

// must returns the value of a call that cannot fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
