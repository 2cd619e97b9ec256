package jobcontroller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
)

// AnnotationMemory holds a Job's jobpolicy.State as JSON, written together with the
// status. A value copied from another Job is ignored. The annotation is absent if
// others leave no room for it.
const AnnotationMemory = "restartkit.dev/job-memory"

// maxMemory bounds the annotation, in bytes. The status itself lists 500 UIDs in about
// 20 KB.
const maxMemory = 32 << 10

// roomForMemory returns how many bytes the annotation may have in addition to the Job's
// others. The API server allows 256 KiB in all, names included.
func roomForMemory(annotations map[string]string) int {
	room := validation.TotalAnnotationSizeLimitB - len(AnnotationMemory)
	for name, text := range annotations {
		if name != AnnotationMemory {
			room -= len(name) + len(text)
		}
	}
	return min(room, maxMemory)
}

// encodeMemory returns the annotation's text, in at most room bytes. Of the released
// pods it keeps those that held reports as still shown with their finalizer, because a
// later reader will have listed the pods after the others lost theirs. If the text is
// too long, encodeMemory drops the lists of pods one by one, and failures of the
// dropped pods may be reported and delay once more. If the text is still too long, it
// becomes "".
func encodeMemory(m jobpolicy.State, room int, held func(uid string) bool) (string, error) {
	m.Behind = time.Time{} // local to this process
	m.Released = slices.DeleteFunc(slices.Clone(m.Released), func(uid string) bool { return !held(uid) })
	for _, shorten := range []func(){func() {}, func() { m.Released = nil }, func() { m.Handled = nil }, func() { m.Ahead = nil }} {
		shorten()
		text, err := json.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("encoding the memory of Job %s: %w", m.Job, err)
		}
		if len(text) <= room {
			return string(text), nil
		}
	}
	return "", nil
}

// decodeMemory decodes the annotation's text for the Job with this UID. If the text is
// empty or another Job's, it returns an empty memory and false.
func decodeMemory(text string, job types.UID) (m jobpolicy.State, there bool, err error) {
	none := jobpolicy.State{Job: string(job)}
	if text == "" {
		return none, false, nil
	}
	if len(text) > maxMemory {
		return none, false, fmt.Errorf("annotation %s: %d bytes exceed the limit of %d", AnnotationMemory, len(text), maxMemory)
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return none, false, fmt.Errorf("annotation %s: %w", AnnotationMemory, err)
	}
	if m.Job != string(job) {
		return none, false, nil
	}
	return m, true, nil
}
