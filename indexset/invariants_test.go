package indexset

import (
	"strings"
	"testing"
)

// The tests rely on valid. So each invariant is broken once, and valid must name it.
func TestValidNamesTheBrokenInvariantOfASet(t *testing.T) {
	many := FarApart().runs() // enough for a directory
	misled := newRunList(many)
	misled.dir.Store(&directory{shift: 31, starts: []uint32{0, 0}})
	for _, c := range []struct {
		what, want string
		set        Set
	}{
		{"nothing", "", Set{}},
		{"a bitmap", "", Set{words: []uint64{1, 1}, list: &runList{n: 2}}},
		{"runs", "", Set{list: newRunList([]run{{0, 1}, {3, MaxIndex}})}},
		{"a bitmap without a count", "invariant 1", Set{words: []uint64{1}}},
		{"an empty list", "invariant 1", Set{list: &runList{}}},
		{"a bitmap of no words", "invariant 1", Set{words: []uint64{}}},
		{"a bitmap and runs", "invariant 1", Set{words: []uint64{1}, list: newRunList([]run{{0, 0}})}},
		{"a zero at the end of a bitmap", "invariant 2", Set{words: []uint64{1, 0}, list: &runList{n: 1}}},
		{"an empty bitmap", "invariant 2", Set{words: []uint64{0}, list: &runList{}}},
		{"runs that touch", "invariant 3", Set{list: newRunList([]run{{0, 1}, {2, 3}})}},
		{"runs in disorder", "invariant", Set{list: newRunList([]run{{5, 6}, {2, 3}})}},
		{"a run that ends before it starts", "invariant 4", Set{list: newRunList([]run{{5, 3}})}},
		{"a run above MaxIndex", "invariant 4", Set{list: newRunList([]run{{5, MaxIndex + 1}})}},
		{"a directory that misleads", "invariant 5", Set{list: misled}},
		{"a bitmap with a wrong count", "invariant 6", Set{words: []uint64{3}, list: &runList{n: 1}}},
		{"runs with a wrong count", "invariant 6", Set{list: &runList{n: 1, runs: []run{{0, 1}}}}},
	} {
		checkNamed(t, c.what, c.want, c.set.valid())
	}
}

func TestValidNamesTheBrokenInvariantOfABuilder(t *testing.T) {
	singles := func(n int) (runs []run) {
		for i := range uint32(n) {
			runs = append(runs, run{2 * i, 2 * i})
		}
		return runs
	}
	for _, c := range []struct {
		what, want string
		builder    Builder
	}{
		{"nothing", "", Builder{}},
		{"a bitmap with a zero at its end", "", Builder{words: []uint64{3, 0}, n: 2}},
		{"a full block", "", Builder{blocks: [][]run{singles(blockLen)}, runs: blockLen, n: blockLen}},
		{"blocks one after another", "", Builder{blocks: [][]run{{{0, 1}}, {{3, MaxIndex}}}, runs: 2, n: MaxIndex}},
		{"a bitmap and blocks", "invariant 1", Builder{words: []uint64{1}, blocks: [][]run{{{0, 0}}}, runs: 1, n: 2}},
		{"an empty block", "invariant 2", Builder{blocks: [][]run{{}}}},
		{"a block too long", "invariant 2", Builder{blocks: [][]run{singles(blockLen + 1)}, runs: blockLen + 1, n: blockLen + 1}},
		{"runs that touch", "invariant 2", Builder{blocks: [][]run{{{0, 1}, {2, 3}}}, runs: 2, n: 4}},
		{"blocks that touch", "invariant 2", Builder{blocks: [][]run{{{0, 1}}, {{2, 3}}}, runs: 2, n: 4}},
		{"a run that ends before it starts", "invariant 2", Builder{blocks: [][]run{{{1, 0}}}, runs: 1}},
		{"a run above MaxIndex", "invariant 2", Builder{blocks: [][]run{{{5, MaxIndex + 1}}}, runs: 1, n: MaxIndex - 3}},
		{"a wrong number of runs", "invariant 3", Builder{blocks: [][]run{{{0, 1}}}, runs: 2, n: 2}},
		{"a wrong count of a bitmap", "invariant 4", Builder{words: []uint64{3}, n: 1}},
		{"a wrong count of runs", "invariant 4", Builder{blocks: [][]run{{{0, 1}}}, runs: 1, n: 1}},
	} {
		checkNamed(t, c.what, c.want, c.builder.valid())
	}
}

// checkNamed checks that the error is about the invariant, or nil if that is "".
func checkNamed(t *testing.T, what, invariant string, err error) {
	t.Helper()
	if (err == nil) != (invariant == "") || err != nil && !strings.Contains(err.Error(), invariant) {
		t.Errorf("%s: %v, want %q", what, err, invariant)
	}
}
