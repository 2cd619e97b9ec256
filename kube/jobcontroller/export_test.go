package jobcontroller

// What tests outside the package reach.
var (
	Untrack   = (*Controller).untrack
	DeletePod = (*Controller).deletePod

	StatusPatch = statusPatch
	Refuses     = refuses
)
