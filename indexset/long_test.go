//go:build long

package indexset

import (
	"runtime"
	"testing"
)

// Allocated returns the bytes that f allocates, live or not.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Operations with an index far behind a bitmap do not even use large memory meanwhile.
func TestFarIndexesAllocateLittle(t *testing.T) {
	for operation, do := range withFarIndex() {
		if bytes := Allocated(func() { do() }); bytes > 1<<18 {
			t.Errorf("%s: allocated %d bytes", operation, bytes)
		}
	}
}
