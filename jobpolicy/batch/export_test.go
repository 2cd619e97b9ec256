package batch

// For tests from outside.
const (
	MaxPolicyRules  = maxPolicyRules
	MaxPolicyValues = maxPolicyValues
)

var (
	CheckIndexes          = checkIndexes
	QualifiedNameMistakes = qualifiedNameMistakes
)
