package batch

import (
	"fmt"

	"github.com/restartkit/restart/indexset"
)

// CompletedIndexSet returns CompletedIndexes as a set. If the text is malformed, the
// set has all readable indexes, as with indexset.ParseLenient, and the error wraps an
// indexset.ParseError with the first mistake.
func (s *JobStatus) CompletedIndexSet() (indexset.Set, error) {
	return indexSet("CompletedIndexSet", s.CompletedIndexes)
}

// FailedIndexSet returns FailedIndexes as a set, like CompletedIndexSet. The set of nil
// is empty.
func (s *JobStatus) FailedIndexSet() (indexset.Set, error) {
	if s.FailedIndexes == nil {
		return indexset.Set{}, nil
	}
	return indexSet("FailedIndexSet", *s.FailedIndexes)
}

func indexSet(call, text string) (indexset.Set, error) {
	set, report := indexset.ParseLenient(text)
	if report.First != nil {
		return set, fmt.Errorf("batch: JobStatus.%s: %w", call, report.First)
	}
	return set, nil
}
