package jobpolicy

// The parts of a plan with tests of their own.
var (
	FailuresInARow = failuresInARow
	GenerateName   = generateName
	Remaining      = remaining
	Until          = until
)

// NameFirst and FailJobMessages are helpers of the recorded cases.
var (
	NameFirst       = nameFirst
	FailJobMessages = failJobMessages
)

// MaxCount is the highest failure count.
const MaxCount = maxCount

// IndexFailedAfter is IndexFailed for the failures before the pod.
func IndexFailedAfter(m Match, before int, limit *int32) bool {
	return m.indexFailedAfter(before, limit)
}
