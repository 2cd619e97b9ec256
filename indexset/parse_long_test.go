//go:build long

package indexset_test

import (
	"runtime/metrics"
	"testing"

	"github.com/restartkit/restart/indexset"
)

// roughlyAllocated is Allocated, but a hundred times faster; it may count small
// allocations late.
func roughlyAllocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// bound returns the number of bytes that reading text may allocate.
func bound(text string) uint64 { return 8*uint64(len(text)) + 1<<20 }

func TestParseBoundsWorkAndMemory(t *testing.T) {
	for _, c := range longTexts(2 << 20) {
		var s indexset.Set
		var err error
		strict := indexset.Allocated(func() { s, err = indexset.Parse(c.text) })
		if (err == nil) != c.ok || strict > bound(c.text) {
			t.Errorf("%s: %v, allocated %d bytes for %d", c.name, err, strict, len(c.text))
		}
		var report indexset.Report
		lenient := indexset.Allocated(func() { s, report = indexset.ParseLenient(c.text) })
		if (report.First == nil) != c.ok || lenient > bound(c.text) {
			t.Errorf("%s, lenient: %+v, allocated %d bytes for %d", c.name, report, lenient, len(c.text))
		}
		t.Logf("%-45s %d bytes: strict allocates %.2f per byte, lenient %.2f; read %d, skipped %d, reordered %d",
			c.name, len(c.text), float64(strict)/float64(len(c.text)), float64(lenient)/float64(len(c.text)),
			s.Len(), report.Skipped, report.Reordered)
	}
}

func FuzzParseBoundsMemory(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(){func() { indexset.Parse(text) }, func() { indexset.ParseLenient(text) }} {
			if roughlyAllocated(read) > bound(text) && indexset.Allocated(read) > bound(text) {
				t.Fatalf("%d bytes: allocated %d", len(text), indexset.Allocated(read))
			}
		}
	})
}
