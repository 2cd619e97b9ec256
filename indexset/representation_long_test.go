//go:build long

package indexset

import "testing"

// Operations with an index far behind a bitmap do not even use large memory meanwhile.
func TestFarIndexesAllocateLittle(t *testing.T) {
	for operation, do := range withFarIndex() {
		if bytes := Allocated(func() { do() }); bytes > 1<<18 {
			t.Errorf("%s: allocated %d bytes", operation, bytes)
		}
	}
}

// A Builder that adds all indexes to many forgets these without much memory.
func TestAddingAllIndexesAllocatesLittle(t *testing.T) {
	var b Builder
	for i := range 20000 {
		b.Add(3 * i)
	}
	if allocated := Allocated(func() { b.AddRange(0, MaxIndex) }); allocated > 1<<20 || b.Set().String() != "0-2147483647" {
		t.Errorf("AddRange of all: allocated %d bytes, %s", allocated, b.Set())
	}
}
