package pleg

import (
	"testing"
	"time"
)

// A duration counts in the first bucket whose bound it does not exceed.
func TestDurationCountsInItsBucket(t *testing.T) {
	var h Histogram
	for i, bound := range HistogramBounds() {
		before := h.Counts[i]
		h.observe(time.Duration(bound * 1e9))
		if h.Counts[i] != before+1 {
			t.Errorf("%vs counts elsewhere: %v", bound, h.Counts)
		}
	}
	h.observe(time.Hour)
	h.observe(-time.Hour)
	if h.Counts[14] != 1 || h.Counts[0] != 2 || h.Count() != 16 || h.Sum < 3600 {
		t.Errorf("%+v", h)
	}
}
