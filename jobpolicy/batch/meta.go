package batch

import (
	"strconv"
	"time"

	"github.com/restartkit/restart/internal/count"
)

// ObjectMeta is the part of an API object's metadata that affects restarts.
type ObjectMeta struct {
	Name                       string            `json:"name,omitempty"`
	GenerateName               string            `json:"generateName,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	CreationTimestamp          time.Time         `json:"creationTimestamp,omitzero"`
	DeletionTimestamp          time.Time         `json:"deletionTimestamp,omitzero"` // zero unless being deleted
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
}

// CompletionIndex returns the completion index in a pod's annotations, or -1 if it is
// absent or invalid.
func (m *ObjectMeta) CompletionIndex() int {
	n, ok := count.Parse(m.Annotations[JobCompletionIndexAnnotation])
	if !ok {
		return -1
	}
	return n
}

// FailureCounts returns the earlier failures of the pod's index from the pod's
// annotations. failures counts towards the limit per index; ignored does not. A count
// is 0 if it is absent or invalid. To count the pod's own failure, pass them to
// NextCounts of package jobpolicy.
func (m *ObjectMeta) FailureCounts() (failures, ignored int) {
	read := func(annotation string) int {
		n, ok := count.Parse(m.Annotations[annotation])
		if !ok {
			return 0
		}
		return n
	}
	return read(JobIndexFailureCountAnnotation), read(JobIndexIgnoredFailureCountAnnotation)
}

// SetFailureCounts sets the result of FailureCounts, in the map Annotations. It limits
// counts to the range from 0 to 2^31-1.
func (m *ObjectMeta) SetFailureCounts(failures, ignored int) {
	if m.Annotations == nil {
		m.Annotations = make(map[string]string, 2)
	}
	text := func(n int) string { return strconv.Itoa(min(max(n, 0), count.Max)) }
	m.Annotations[JobIndexFailureCountAnnotation] = text(failures)
	if ignored > 0 {
		m.Annotations[JobIndexIgnoredFailureCountAnnotation] = text(ignored)
	} else {
		delete(m.Annotations, JobIndexIgnoredFailureCountAnnotation)
	}
}
