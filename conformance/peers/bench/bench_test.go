package bench

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// given is a candidate whose rounds yield the values given.
func given(name string, values ...float64) Candidate {
	return Value(name, timePerOp, func(bool) func() float64 {
		i := 0
		return func() float64 { i++; return values[i-1] }
	})
}

func TestJudge(t *testing.T) {
	// The paired ratios are 0.5, 2 and 0.25: their median is 0.5, although the
	// medians of the values are 200 and 400 ns.
	row := Row{
		Package:    "p",
		Name:       "row",
		Candidates: []Candidate{given("ours", 200, 800, 100), given("theirs", 400, 400, 400)},
	}
	for _, tt := range []struct {
		goal Goal
		met  bool
		want verdict
	}{
		{Ratio("theirs", 0.5), true, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "0.50", Goal: "≤ 0.50"}},
		{Ratio("theirs", 0.49), false, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "0.50", Goal: "≤ 0.49"}},
		{Times("theirs", 2), true, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "2.00x", Goal: "≥ 2.00x"}},
		{Times("theirs", 12), false, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "2.00x", Goal: "≥ 12.0x"}},
		{Within("theirs", 0.4, 0.6), true, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "0.50", Goal: "0.40 to 0.60"}},
		{Within("theirs", 2, 4), false, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "0.50", Goal: "2.00 to 4.00"}},
		{Within("ours", 1, 3).For("theirs"), true, verdict{Ours: "theirs: 400 ns", Theirs: "ours: 200 ns", Allocs: "0 / 0", Figure: "2.00", Goal: "1.00 to 3.00"}},
		{AtMost(200), true, verdict{Theirs: "theirs: 400 ns", Allocs: "0", Figure: "200 ns", Goal: "≤ 200 ns"}},
		{AtMost(199), false, verdict{Theirs: "theirs: 400 ns", Allocs: "0", Figure: "200 ns", Goal: "≤ 199 ns"}},
		{Allocs(0), true, verdict{Figure: "0 allocs", Goal: "≤ 0 allocs"}},
		{Ratio("theirs", 0.4).Restated(0.6), true, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "0.50", Goal: "≤ 0.60, at first 0.40"}},
		{Times("theirs", 4).Restated(3), false, verdict{Theirs: "theirs: 400 ns", Allocs: "0 / 0", Figure: "2.00x", Goal: "≥ 3.00x, at first 4.00x"}},
	} {
		row.Goals = []Goal{tt.goal}
		if err := row.Validate(); err != nil {
			t.Fatal(err)
		}
		if tt.want.Ours == "" {
			tt.want.Ours = "200 ns"
		}
		tt.want.Runs = 1
		if !tt.met {
			tt.want.Missed = 1
		}
		results := Run([]Row{row}, Options{Rounds: 3}, func(int, int) {}, func(int, Result) {})
		if diff := cmp.Diff(tt.want, results[0].verdicts()[0]); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.goal, diff)
		}
	}
}

// Allocations have a column, not a line: with the limit if it is not 0, and in
// bold if a run exceeded it.
func TestAllocationsAreAColumn(t *testing.T) {
	const ours, theirs = 3, 7
	m := measurement{{{value: 1, allocs: ours}}, {{value: 2, allocs: theirs}}}
	row := Row{Candidates: []Candidate{given("ours"), given("theirs")}}
	for _, tt := range []struct {
		goals  []Goal
		want   []string
		missed int
	}{
		{[]Goal{Ratio("theirs", 1)}, []string{"3 / 7"}, 0},
		{[]Goal{AtMost(1)}, []string{"3"}, 0},
		{[]Goal{Ratio("theirs", 1), Allocs(3), AtMost(1)}, []string{"3 (≤ 3) / 7", "3 (≤ 3)"}, 0},
		{[]Goal{Allocs(2), Ratio("theirs", 1)}, []string{"**3 allocs (≤ 2)** / 7"}, 1},
		{[]Goal{Allocs(0), Ratio("ours", 3).For("theirs")}, []string{"7 / 3"}, 1},
		{[]Goal{Allocs(3)}, []string{"3 (≤ 3) / 7"}, 0},
	} {
		row.Goals = tt.goals
		result := Result{row, []measurement{m}}
		var got []string
		for _, v := range result.lines() {
			got = append(got, v.Allocs)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.goals, diff)
		}
		if missed, goals := (Report{Results: []Result{result}}).Missed(); missed != tt.missed || goals != len(tt.goals) {
			t.Errorf("%+v: %d of %d goals missed, want %d of %d", tt.goals, missed, goals, tt.missed, len(tt.goals))
		}
	}
}

func TestRowString(t *testing.T) {
	row := Row{
		Package:    "p",
		Name:       "row",
		Candidates: []Candidate{given("ours"), given("slow"), given("theirs")},
		Goals:      []Goal{Ratio("theirs", 0.5), Within("theirs", 2, 4).For("slow"), AtMost(3000), Allocs(1)},
	}
	want := "p/row: ≤ 0.50 theirs; slow 2.00 to 4.00 theirs; ≤ 3 µs; ≤ 1 alloc"
	if got := row.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTurns checks that candidates take turns and that the order shifts.
func TestTurns(t *testing.T) {
	var order strings.Builder
	logged := func(name string) Candidate {
		return Value(name, Nanoseconds, func(bool) func() float64 {
			return func() float64 { order.WriteString(name); return 1 }
		})
	}
	row := Row{Candidates: []Candidate{logged("a"), logged("b"), logged("c")}, Rounds: 4}
	measure(row, Options{Rounds: 15})
	if got, want := order.String(), "abcbcacababc"; got != want {
		t.Errorf("sampled in the order %s, want %s", got, want)
	}
}

func TestValidate(t *testing.T) {
	ours, theirs := given("ours"), given("theirs")
	held := Heap("held", nil)
	for _, tt := range []struct {
		row  Row
		want string
	}{
		{Row{Name: "n", Candidates: []Candidate{ours}, Goals: []Goal{AtMost(1)}}, "package or name is empty"},
		{Row{Package: "p", Name: "n", Goals: []Goal{AtMost(1)}}, "no candidates"},
		{Row{Package: "p", Name: "n", Candidates: []Candidate{ours}}, "no goals"},
		{Row{Package: "p", Name: "n", Candidates: []Candidate{ours, held}, Goals: []Goal{AtMost(1)}}, `candidate "held" is measured in B held`},
		{Row{Package: "p", Name: "n", Candidates: []Candidate{ours, ours}, Goals: []Goal{AtMost(1)}}, `two candidates are named "ours"`},
		{Row{Package: "p", Name: "n", Candidates: []Candidate{ours, theirs}, Goals: []Goal{Ratio("other", 1)}}, `names "other", which is no candidate`},
		{Row{Package: "p", Name: "n", Candidates: []Candidate{ours, theirs}, Goals: []Goal{Ratio("", 1)}}, "compares with nobody"},
		{Row{Package: "p", Name: "n", Candidates: []Candidate{held}, Goals: []Goal{Allocs(1)}}, "only timed rows count allocations"},
	} {
		if err := tt.row.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one that says %s", err, tt.want)
		}
	}
}

// sink keeps what a measured function allocates on the heap.
type sink struct{ kept *[64]byte }

func TestTimeCountsAllocations(t *testing.T) {
	s := &sink{}
	allocating := Time("allocating", func(bool) func(n int) {
		return func(n int) {
			for range 2 * n {
				s.kept = new([64]byte)
			}
		}
	})
	m := measure(Row{Candidates: []Candidate{allocating}}, Options{Rounds: 3, Short: true})
	if got := m.allocs(0); got != 2 {
		t.Errorf("%v allocations per operation, want 2", got)
	}
	if v := m.value(0); v <= 0 || v > 1e6 {
		t.Errorf("%v ns per operation", v)
	}
}

func TestParallelSplits(t *testing.T) {
	var mu sync.Mutex
	done := map[int]int{}
	elapsed(2, 101, func(g, n int) {
		mu.Lock()
		defer mu.Unlock()
		done[g] += n
	})
	if diff := cmp.Diff(map[int]int{0: 50, 1: 50}, done); diff != "" {
		t.Errorf("operations by goroutine (-want +got):\n%s", diff)
	}
}

func TestFreshSetsUpEverySample(t *testing.T) {
	setups, ops, cleaned := 0, 0, 0
	m := measure(Row{Candidates: []Candidate{Fresh("fresh", 7, func(bool) (func(int), func()) {
		setups++
		return func(n int) { ops += n }, func() { cleaned++ }
	})}}, Options{Rounds: 5})
	if setups != 5 || ops != 35 || cleaned != 5 || len(m[0]) != 5 {
		t.Errorf("%d setups, %d operations, cleaned up %d times in %d samples, want 5, 35, 5, 5", setups, ops, cleaned, len(m[0]))
	}
}

func TestHeapMeasuresWhatIsKept(t *testing.T) {
	const size = 4 << 20
	m := measure(Row{Candidates: []Candidate{Heap("kept", func(bool) func() (any, int) {
		given := make([]byte, size) // not built, so not counted
		return func() (any, int) {
			garbage := slices.Clone(given)
			return append([]byte(nil), garbage...), size
		}
	})}}, Options{Rounds: 3})
	if got := m.value(0); math.Abs(got-1) > 0.05 {
		t.Errorf("%v bytes held per byte kept", got)
	}
}

func TestStallSeesABlockedCall(t *testing.T) {
	const held = 20 * time.Millisecond
	var mu sync.Mutex
	var called, locked atomic.Int64
	got := longestStall(
		func() {
			called.Add(1)
			mu.Lock()
			defer mu.Unlock()
			locked.Add(1)
		},
		func() {
			mu.Lock()
			defer mu.Unlock()
			for called.Load() == locked.Load() { // until a call needs the lock
				runtime.Gosched()
			}
			for start := time.Now(); time.Since(start) < held; {
			}
		})
	if got < held {
		t.Errorf("longest stall %v while the lock was held for %v", got, held)
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		got, want string
	}{
		{timePerOp.format(0.4567), "0.457 ns"},
		{timePerOp.format(742.4), "742 ns"},
		{timePerOp.format(3000), "3 µs"},
		{stall.format(86.04e6), "86 ms"},
		{stall.format(2.5e9), "2.5 s"},
		{heapBytes.format(88.04), "88 B"},
		{heapBytes.format(-3.2), "-3.2 B"},
		{heapBytes.format(3 << 19), "1.5 MiB"},
		{Unit("lists").format(12), "12 lists"},
		{formatFactor(0.6349), "0.63"},
		{formatFactor(0.00123), "0.00123"},
		{formatFactor(23.46), "23.5"},
		{formatFactor(1234), "1234"},
		{formatAllocs(1), "1 alloc"},
		{formatAllocs(8641), "8641 allocs"},
		{formatNumber(1234567), "1230000"},
	} {
		if tt.got != tt.want {
			t.Errorf("formatted %q, want %q", tt.got, tt.want)
		}
	}
}

// TestReport compares the whole report of a made-up measurement with a file.
func TestReport(t *testing.T) {
	rows := []Row{
		{
			Package:    "first",
			Name:       "steady",
			Candidates: []Candidate{given("ours", 10, 10), given("theirs", 100, 100)},
			Goals:      []Goal{Times("theirs", 5), Allocs(0)},
		},
		{
			Package:    "first",
			Name:       "shown only",
			Candidates: []Candidate{given("ours", 10, 10), given("theirs", 5, 5)},
			Goals:      []Goal{Allocs(0)},
		},
		{
			Package:    "second",
			Name:       "slow",
			Candidates: []Candidate{given("ours", 300, 300), given("theirs", 100, 100)},
			Goals:      []Goal{Ratio("theirs", 1), AtMost(1000)},
			Note:       "It does more; a table was tried and was slower.",
		},
		{
			Package:    "second",
			Name:       "restated",
			Candidates: []Candidate{given("ours", 300, 300), given("theirs", 200, 200)},
			Goals:      []Goal{Ratio("theirs", 1).Restated(2)},
			Note:       "It reads the clock as well.",
		},
	}
	results := Run(rows, Options{Rounds: 2, Runs: 2}, func(int, int) {}, func(int, Result) {})
	results[2].runs[1][1][0].value, results[2].runs[1][1][1].value = 400, 400 // the second run meets the goal
	report := Report{
		Machine: "a machine", Go: "go1", Peers: []string{"peer v1"}, Date: "2025-01-02", Command: "peerbench", Others: "The rest is measured elsewhere.",
		Options: Options{Rounds: 2, Runs: 2}, Results: results,
	}
	var got strings.Builder
	if err := report.WriteMarkdown(&got); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/report.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
