package indexset_test

import (
	"testing"

	"github.com/restartkit/restart/indexset"
)

// The tests in this file pin the intended differences from Kubernetes 1.36.3 in reading
// and printing. The rules of both sides are in rules_test.go.

func TestDeviationStrictNumbers(t *testing.T) {
	for _, text := range []string{"+1", "01", "007-010", "0,+5", "1-+3"} {
		if _, ok := kubernetesStrict(text, 100); !ok {
			t.Errorf("Kubernetes rejects %q", text)
		}
		if s, err := indexset.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %q", text, s)
		}
	}
}

func TestDeviationLenient(t *testing.T) {
	for _, c := range []struct{ text, theirs, ours string }{
		// Out of order, repeated, overlapping.
		{"7,3", "7,3", "3,7"},
		{"3,1,2", "3,1,2", "1-3"},
		{"1-5,2-3", "1-5,2,3", "1-5"},
		{"4,4", "4,4", "4"},
		// Reversed; the second joins the range before.
		{"5-3", "5", ""},
		{"1-5,6-2", "1,2", "1-5"},
		// Above MaxIndex.
		{"0-9223372036854775807", "0-9", ""},
		{"0-2147483648", "0-9", ""},
		// Behind an index out of range.
		{"12,3", "", "3"},
		{"12-x,3", "", "3"},
		{"3000000000,3", "", "3"},
		// The same on both sides.
		{"0-2,4,x,6-8-9,+9", "0-2,4,6-9", "0-2,4,6-9"},
		{"8-12", "8,9", "8,9"},
	} {
		if got := format(kubernetesLenient(c.text, 10)); got != c.theirs {
			t.Errorf("Kubernetes reads %q as %q, not %q", c.text, got, c.theirs)
		}
		s, _ := indexset.ParseLenient(c.text)
		if got := s.Clip(10).String(); got != c.ours {
			t.Errorf("ParseLenient(%q) = %q, want %q", c.text, got, c.ours)
		}
	}
}

func TestDeviationAdjacentRanges(t *testing.T) {
	if got := format([]span{{2, 3}, {4, 9}}); got != "2,3,4-9" {
		t.Errorf("Kubernetes prints %q", got)
	}
	if got := indexset.FromRange(2, 3).Union(indexset.FromRange(4, 9)).String(); got != "2-9" {
		t.Errorf("ours prints %q", got)
	}
}
