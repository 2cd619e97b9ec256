//go:build long

package jobcontroller

// Exports for tests outside the package.
var (
	Untrack   = (*Controller).untrack
	DeletePod = (*Controller).deletePod

	StatusPatch = statusPatch
	Refuses     = refuses
)
