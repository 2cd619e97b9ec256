// Package peers measures this library against its peers and checks that their results
// agree. The peers are client-go's flowcontrol.Backoff, the retries of cenkalti/backoff
// and avast/retry-go, the kubelet's pod cache, the API server's Job validation, the Job
// controller's evaluation of policies, and the bitmaps of roaring and bits-and-blooms.
//
// The rows of each package are in <package>_rows.go, the differential tests in
// <package>_test.go. Package bench explains how to add a row.
package peers

import (
	"slices"

	"github.com/restartkit/restart/conformance/peers/bench"
)

// Rows returns all rows, in the order of the report.
func Rows() []bench.Row {
	return slices.Concat(
		backoffRows(),
		indexsetRows(),
		jobpolicyRows(),
		plegRows(),
	)
}

// ours names our candidate in every row.
const ours = "ours"

// must returns v and panics on an error, for calls that cannot fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
