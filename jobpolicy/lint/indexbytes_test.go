package lint_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// indexTexts is the model of indexBytes. It tries all ways to distribute n indexes over
// completed, failed and open ones, except for those with equal texts. lengths holds the
// longest texts by the number of failed indexes, that of open ones below the last that
// ended, and whether that one has failed.
type indexTexts struct {
	failed, open int // the most of them
	lengths      []int
}

func (x *indexTexts) at(failed, open int, lastFailed bool) *int {
	i := (failed*(x.open+1) + open) * 2
	if lastFailed {
		i++
	}
	return &x.lengths[i]
}

const impossible = math.MinInt32

// newIndexTexts adds one index after the other. The length that the next one adds
// depends on the run that it continues and on that run's length; 3 stands for 3 and
// more, where the text names only the ends.
func newIndexTexts(n, failed, open int) *indexTexts {
	x := &indexTexts{failed: failed, open: open, lengths: make([]int, (failed+1)*(open+1)*2)}
	const first, completed1, completed3, failed1, failed3 = 0, 1, 3, 4, 6 // states of the last index; first: open or none
	const states = 7
	at := func(f, o, state int, someCompleted bool) int {
		i := ((f*(open+1)+o)*states + state) * 2
		if someCompleted {
			i++
		}
		return i
	}
	best := make([]int, (failed+1)*(open+1)*states*2)
	for i := range best {
		best[i] = impossible
	}
	for i := range x.lengths {
		x.lengths[i] = impossible
	}
	best[at(0, 0, first, false)] = 0
	named, namedBefore := 0, 0
	for i := range n {
		named, namedBefore = len(fmt.Sprint(i))+1, named
		next := make([]int, len(best))
		for k := range next {
			next[k] = impossible
		}
		put := func(k, length int) { next[k] = max(next[k], length) }
		for f := range failed + 1 {
			for o := range open + 1 {
				for state := range states {
					for _, some := range []bool{false, true} {
						length := best[at(f, o, state, some)]
						if length < 0 {
							continue
						}
						// longer returns the state and the length after an index in a
						// field.
						longer := func(one, three int) (int, int) {
							switch {
							case state < one || state > three:
								return one, length + named
							case state == one:
								return one + 1, length + named
							}
							return three, length + named - namedBefore
						}
						// A run of two names both; one of three or more drops the index
						// before the last.
						if state, length := longer(completed1, completed3); true {
							put(at(f, o, state, true), length)
							x.take(f, o, false, length, true)
						}
						if state, length := longer(failed1, failed3); f < failed {
							put(at(f+1, o, state, some), length)
							x.take(f+1, o, true, length, some)
						}
						if o < open {
							put(at(f, o+1, first, some), length)
						}
					}
				}
			}
		}
		best = next
	}
	return x
}

// take records the length of the texts whose last index has ended.
func (x *indexTexts) take(failed, open int, lastFailed bool, length int, someCompleted bool) {
	if failed > 0 {
		length--
	}
	if someCompleted {
		length--
	}
	longest := x.at(failed, open, lastFailed)
	*longest = max(*longest, length)
}

// longest tries all numbers of indexes that fail before and with the last pods.
func (x *indexTexts) longest(parallelism, each, failures, indexes int) (longest int) {
	for before := range indexes + 1 {
		for last := range parallelism + 1 {
			if before+last > x.failed || before*each+last*(each-1) > failures {
				break
			}
			for open := range min(parallelism-last, x.open) + 1 {
				if open+last < parallelism {
					longest = max(longest, *x.at(before+last, open, false), *x.at(before+last, open, true))
				} else if last > 0 { // the last pods are those of all open indexes below the highest and its own
					longest = max(longest, *x.at(before+last, open, true))
				}
			}
		}
	}
	return longest
}

func TestIndexBytesAgreeWithModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	jobs, failing := 0, 0
	check := func(x *indexTexts, n, parallelism, perIndex, failures, indexes int32, failIndex bool) {
		s := batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &n, Parallelism: &parallelism, BackoffLimit: &failures}
		each := perIndex + 1
		if failIndex {
			s.PodFailurePolicy, each = policyFor(batch.ActionFailIndex), 1
		}
		want := 0
		if perIndex >= 0 {
			s.BackoffLimitPerIndex, s.MaxFailedIndexes = &perIndex, &indexes
			want = x.longest(int(parallelism), int(each), int(failures), int(indexes))
		} else {
			want = x.longest(int(parallelism), 1, 0, -1)
			for open := range min(int(parallelism), x.open+1) {
				want = max(want, *x.at(0, open, false))
			}
		}
		got, err := lint.WorstCase(jobpolicy.Engine{}, &s)
		if err != nil || got.IndexBytes != want {
			t.Fatalf("%s: %d bytes, want %d: %v", jsonText(s), got.IndexBytes, want, err)
		}
		if jobs++; want > *x.at(0, min(x.open, int(parallelism)-1), false) {
			failing++
		}
	}
	for _, n := range []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 29, 30, 98, 101, 102, 103} {
		x := newIndexTexts(int(n), min(int(n), 40), 8)
		for _, parallelism := range []int32{1, 2, 3, 4, 7} {
			for perIndex := int32(-1); perIndex <= 3; perIndex++ {
				for _, failures := range []int32{0, 1, 2, 3, 4, 5, 7, 11, 60, math.MaxInt32} {
					for _, indexes := range []int32{0, 1, 2, 5, n} {
						if indexes = min(indexes, n); parallelism+indexes <= int32(x.failed) || failures < 30 || indexes == n {
							check(x, n, parallelism, perIndex, failures, indexes, perIndex > 0 && failures%3 == 2)
						}
					}
				}
			}
		}
	}
	// One more failed index replaces two open ones. This makes the text longer if the
	// failed one has five digits, more than the open ones together.
	x := newIndexTexts(1004, 5, 334)
	for _, parallelism := range []int32{300, 330, 331, 332, 333, 334} {
		for failures := range int32(5) {
			check(x, 1004, parallelism, 1, failures, 2, false)
		}
	}
	t.Logf("%d Jobs, in %d of them the longest fields have failed indexes", jobs, failing)
}
