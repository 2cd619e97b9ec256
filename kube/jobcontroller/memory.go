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

// AnnotationMemory is the annotation in which a Job's jobpolicy.State is kept, as JSON.
// It is written together with the status, in one request, so that neither is ahead of
// the other. The memory of another Job, copied with a manifest perhaps, is not read. A
// Job whose other annotations leave no room for it has none.
const AnnotationMemory = "restartkit.dev/job-memory"

// maxMemory bounds the annotation, in bytes. The status' own list of 500 UIDs has about
// 20 KB.
const maxMemory = 32 << 10

// roomForMemory is how many bytes the annotation may have beside a Job's others. The API
// server takes 256 KiB in all, with their names.
func roomForMemory(annotations map[string]string) int {
	room := validation.TotalAnnotationSizeLimitB - len(AnnotationMemory)
	for name, text := range annotations {
		if name != AnnotationMemory {
			room -= len(name) + len(text)
		}
	}
	return min(room, maxMemory)
}

// encodeMemory returns the text of the annotation, in at most room bytes. Of the pods
// that were released it keeps those that held says are still shown with their finalizer:
// whoever reads the annotation has listed the pods after this process has seen the
// others without it. A memory that is too long is kept without its lists of pods, one
// after the other: a pod of which nothing is known may then be reported, and delay, once
// more. If it is too long without them, too, the text is "".
func encodeMemory(m jobpolicy.State, room int, held func(uid string) bool) (string, error) {
	m.Behind = time.Time{} // since when this process has seen an older status
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

// decodeMemory reads the annotation's text for the Job with this UID. What is not there,
// or another Job's, is an empty memory, and there is false.
func decodeMemory(text string, job types.UID) (m jobpolicy.State, there bool, err error) {
	none := jobpolicy.State{Job: string(job)}
	if text == "" {
		return none, false, nil
	}
	if len(text) > maxMemory {
		return none, false, fmt.Errorf("annotation %s: %d bytes, at most %d are read", AnnotationMemory, len(text), maxMemory)
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return none, false, fmt.Errorf("annotation %s: %w", AnnotationMemory, err)
	}
	if m.Job != string(job) {
		return none, false, nil
	}
	return m, true, nil
}
