package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
)

func TestWorstCaseAddsUp(t *testing.T) {
	n := pointerTo[int32]
	ignore := &jobpolicy.PodFailurePolicy{Rules: []jobpolicy.PodFailurePolicyRule{{Action: jobpolicy.PodFailurePolicyActionIgnore, OnPodConditions: []jobpolicy.OnPodCondition{{Type: jobpolicy.DisruptionTarget}}}}}
	hidden := &jobpolicy.PodFailurePolicy{Rules: []jobpolicy.PodFailurePolicyRule{
		{Action: jobpolicy.PodFailurePolicyActionCount, OnExitCodes: &jobpolicy.OnExitCodes{Operator: jobpolicy.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0}}},
		{Action: jobpolicy.PodFailurePolicyActionIgnore, OnExitCodes: &jobpolicy.OnExitCodes{Operator: jobpolicy.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}},
	}}
	indexed := func(completions, parallelism int32, perIndex, maxFailed *int32) jobpolicy.JobSpec {
		return jobpolicy.JobSpec{CompletionMode: jobpolicy.IndexedCompletion, Completions: &completions, Parallelism: &parallelism, BackoffLimitPerIndex: perIndex, MaxFailedIndexes: maxFailed}
	}
	for _, tt := range []struct {
		name   string
		engine jobpolicy.Engine
		spec   jobpolicy.JobSpec
		want   Bound
	}{
		{"defaults: 10 20 40 80 160 320", jobpolicy.Engine{}, jobpolicy.JobSpec{}, Bound{Runs: 7, Wait: 630 * time.Second}},
		{"up to the longest delay: … 320 600 600", jobpolicy.Engine{}, jobpolicy.JobSpec{BackoffLimit: n(8)}, Bound{Runs: 9, Wait: 1830 * time.Second}},
		{"no failure tolerated", jobpolicy.Engine{}, jobpolicy.JobSpec{Completions: n(3), Parallelism: n(2), BackoffLimit: n(0)}, Bound{Runs: 3}},
		{"work queue", jobpolicy.Engine{}, jobpolicy.JobSpec{Parallelism: n(3), BackoffLimit: n(1)}, Bound{Runs: 4, Wait: 10 * time.Second}},
		{"the most failures there can be", jobpolicy.Engine{}, jobpolicy.JobSpec{BackoffLimit: n(math.MaxInt32)},
			Bound{Runs: saturated(1 << 31), Wait: math.MaxInt64}},
		{"its own delays", jobpolicy.Engine{BaseDelay: time.Millisecond, MaxDelay: 3 * time.Millisecond}, jobpolicy.JobSpec{BackoffLimit: n(4)}, Bound{Runs: 5, Wait: 9 * time.Millisecond}},
		{"a first delay above the longest", jobpolicy.Engine{BaseDelay: 5 * time.Second, MaxDelay: time.Second}, jobpolicy.JobSpec{Completions: n(2), BackoffLimit: n(3)},
			Bound{Runs: 5, Wait: 11 * time.Second}},
		{"deadline", jobpolicy.Engine{}, jobpolicy.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](90)}, Bound{Runs: 7, Wait: 90 * time.Second}},
		{"a deadline that has passed", jobpolicy.Engine{}, jobpolicy.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](0)}, Bound{}},
		{"no parallelism", jobpolicy.Engine{}, jobpolicy.JobSpec{Completions: n(1), Parallelism: n(0)}, Bound{}},
		{"no completions", jobpolicy.Engine{}, jobpolicy.JobSpec{Completions: n(0), Parallelism: n(1)}, Bound{}},
		{"ignored", jobpolicy.Engine{}, jobpolicy.JobSpec{PodFailurePolicy: ignore}, Bound{Runs: math.MaxInt, Unbounded: true, Wait: math.MaxInt64}},
		{"ignored until the deadline", jobpolicy.Engine{}, jobpolicy.JobSpec{PodFailurePolicy: ignore, ActiveDeadlineSeconds: pointerTo[int64](90)},
			Bound{Runs: math.MaxInt, Unbounded: true, Wait: 90 * time.Second}},
		{"an Ignore rule that decides on no pod", jobpolicy.Engine{}, jobpolicy.JobSpec{PodFailurePolicy: hidden}, Bound{Runs: 7, Wait: 630 * time.Second}},
		{"per index", jobpolicy.Engine{}, indexed(3, 3, n(2), nil), Bound{Runs: 9, Wait: 90 * time.Second, IndexBytes: len("0,2") + len("1")}},
		{"per index and for the Job", jobpolicy.Engine{}, func() jobpolicy.JobSpec { s := indexed(3, 3, n(2), nil); s.BackoffLimit = n(3); return s }(),
			Bound{Runs: 6, Wait: 40 * time.Second, IndexBytes: 4}},
		{"per index, no failure tolerated", jobpolicy.Engine{}, indexed(3, 3, n(0), nil), Bound{Runs: 3, IndexBytes: 4}},
		// The figures for one and for both fields at 10^5 completions.
		{"10^5 indexes", jobpolicy.Engine{}, indexed(100_000, 100_000, nil, nil), Bound{Runs: 100_006, Wait: 630 * time.Second, IndexBytes: 392_593}},
		{"10^5 indexes, per index", jobpolicy.Engine{}, indexed(100_000, 100_000, n(0), nil), Bound{Runs: 100_000, IndexBytes: 588_888}},
		{"one index at a time", jobpolicy.Engine{}, indexed(100_000, 1, nil, nil), Bound{Runs: 100_006, Wait: 630 * time.Second, IndexBytes: len("0-99996,99998,99999")}},
		{"one index at a time, one may fail", jobpolicy.Engine{}, indexed(100_000, 1, n(0), n(0)),
			Bound{Runs: 100_000, IndexBytes: len("0-99996,99998,99999") + len("99997")}},
		{"as many indexes as there can be, per index", jobpolicy.Engine{}, indexed(math.MaxInt32, 10_000, n(0), n(10_000)),
			Bound{Runs: math.MaxInt32, IndexBytes: 660_011}},
		{"as many indexes as there can be, any number of them waiting", jobpolicy.Engine{SkipWaiting: true}, indexed(math.MaxInt32, 1, n(0), n(0)),
			Bound{Runs: math.MaxInt32, IndexBytes: saturated(15_007_472_681)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := WorstCase(tt.engine, &tt.spec)
			if err != nil || got != tt.want {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestWorstCaseRefusesWhatIsInvalid(t *testing.T) {
	var fields backoff.FieldErrors
	for _, s := range []*jobpolicy.JobSpec{
		{BackoffLimit: pointerTo[int32](-1)},
		{CompletionMode: jobpolicy.IndexedCompletion, Parallelism: pointerTo[int32](1)},
		{CompletionMode: "x"},
	} {
		if _, err := WorstCase(jobpolicy.Engine{}, s); !errors.As(err, &fields) {
			t.Errorf("%s: %v", jsonText(s), err)
		}
	}
	if _, err := WorstCase(jobpolicy.Engine{}, nil); err == nil {
		t.Error("no specification: no error")
	}
	if _, err := WorstCase(jobpolicy.Engine{MaxDelay: -1}, &jobpolicy.JobSpec{}); err == nil {
		t.Error("an Engine that cannot be: no error")
	}
}

func TestSumsAndProductsSaturate(t *testing.T) {
	const most = math.MaxInt64
	for _, tt := range []struct{ a, b, sum, product int64 }{
		{0, 0, 0, 0}, {2, 3, 5, 6}, {most, 0, most, 0}, {0, most, most, 0}, {most, 1, most, most}, {1, most, most, most},
		{most/2 + 1, 2, most/2 + 3, most}, {most / 2, 2, most/2 + 2, most - 1}, {most, most, most, most}, {1 << 31, 600e9, 1<<31 + 600e9, most},
	} {
		if sum, product := addSaturating(tt.a, tt.b), mulSaturating(tt.a, tt.b); sum != tt.sum || product != tt.product {
			t.Errorf("%d and %d: sum %d, product %d; want %d, %d", tt.a, tt.b, sum, product, tt.sum, tt.product)
		}
	}
}

// The lengths of the index fields, against every way to spread the indexes over
// completed, failed and open that the limits allow, in small Jobs.
func TestIndexBytesOfSmallJobs(t *testing.T) {
	checked := 0
	for n := range int32(8) {
		for parallelism := range int32(4) {
			for maxFailed := int32(-1); maxFailed <= 3; maxFailed++ {
				s := jobpolicy.JobSpec{CompletionMode: jobpolicy.IndexedCompletion, Completions: pointerTo(n + 1), Parallelism: pointerTo(parallelism + 1)}
				failed, open := int32(0), parallelism+1
				if maxFailed >= 0 {
					s.BackoffLimitPerIndex, s.MaxFailedIndexes = pointerTo[int32](1), pointerTo(min(maxFailed, n+1))
					failed, open = min(maxFailed, n+1)+parallelism+1, 0
				}
				checked++
				if got, want := indexBytesOf(t, jobpolicy.Engine{}, s), longestIndexes(int(n)+1, int(failed), int(open)); got != want {
					t.Errorf("%s: %d, want %d", jsonText(s), got, want)
				}
				if maxFailed < 0 {
					continue
				}
				if got, want := indexBytesOf(t, jobpolicy.Engine{SkipWaiting: true}, s), longestIndexes(int(n)+1, int(failed), int(n)+1); got != want {
					t.Errorf("%s, skipping those that wait: %d, want %d", jsonText(s), got, want)
				}
			}
		}
	}
	t.Logf("%d Jobs", checked)
}

func indexBytesOf(t *testing.T, e jobpolicy.Engine, s jobpolicy.JobSpec) int {
	t.Helper()
	b, err := WorstCase(e, &s)
	if err != nil {
		t.Fatal(err)
	}
	return b.IndexBytes
}

// longestIndexes tries every text for n indexes of which at most so many have
// failed, and at most so many below the last that ended have not.
func longestIndexes(n, failed, open int) (longest int) {
	spread := make([]byte, n)
	var try func(i int)
	try = func(i int) {
		if i < n {
			for _, c := range []byte("cfo") {
				spread[i] = c
				try(i + 1)
			}
			return
		}
		var completed, ended indexset.Builder
		for i, c := range spread {
			switch c {
			case 'c':
				completed.Add(i)
			case 'f':
				ended.Add(i)
			}
		}
		last := strings.LastIndexAny(string(spread), "cf")
		if ended.Len() <= failed && strings.Count(string(spread[:last+1]), "o") <= open {
			longest = max(longest, completed.Set().EncodedLen()+ended.Set().EncodedLen())
		}
	}
	try(0)
	return longest
}

// The same where numbers get longer, with completed and open indexes only, by
// way of the longest text that ends at each index.
func TestIndexBytesAcrossDigits(t *testing.T) {
	for _, n := range []int{9, 10, 11, 12, 13, 98, 99, 100, 101, 102, 103, 104, 150} {
		for _, parallelism := range []int{1, 2, 3, 5, 16, 17, 33, 150} {
			s := jobpolicy.JobSpec{CompletionMode: jobpolicy.IndexedCompletion, Completions: pointerTo(int32(n)), Parallelism: pointerTo(int32(parallelism))}
			if got, want := indexBytesOf(t, jobpolicy.Engine{}, s), longestCompleted(n, parallelism); got != want {
				t.Errorf("%d completions, parallelism %d: %d, want %d", n, parallelism, got, want)
			}
		}
	}
}

// longestCompleted is the length of the longest text for n indexes of which at
// most open are missing below the last one.
func longestCompleted(n, open int) int {
	const none = -1 << 30
	named := func(i int) int { return len(fmt.Sprint(i)) + 1 }
	// best[h][r]: the longest with h missing and r indexes in the last run, 3 for
	// three and more. A run of three or more names its ends.
	best := make([][4]int, open+1)
	for h := range best {
		best[h] = [4]int{none, none, none, none}
	}
	best[0][0] = 0
	longest := 0
	for i := range n {
		next := make([][4]int, open+1)
		for h := range next {
			missing := none
			if h > 0 {
				missing = max(best[h-1][0], best[h-1][1], best[h-1][2], best[h-1][3])
			}
			long := max(best[h][2], best[h][3]) + named(i)
			if i > 0 {
				long -= named(i - 1)
			}
			next[h] = [4]int{missing, best[h][0] + named(i), best[h][1] + named(i), long}
			longest = max(longest, next[h][1], next[h][2], next[h][3])
		}
		best = next
	}
	return longest - 1
}

// The Jobs of the file are those of which jobpolicy's tests have followed every run:
// the longest comes to what the file says, and none beyond it.
func TestWorstCaseIsReached(t *testing.T) {
	data, err := os.ReadFile("testdata/worstcase.json")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []struct {
		Spec       jobpolicy.JobSpec
		Runs       int
		Wait       string
		IndexBytes int
	}
	if err := json.Unmarshal(data, &jobs); err != nil || len(jobs) == 0 {
		t.Fatal(len(jobs), err)
	}
	for _, job := range jobs {
		got, err := WorstCase(jobpolicy.Engine{}, &job.Spec)
		if err != nil || got.Runs != job.Runs || got.Wait.String() != job.Wait || got.IndexBytes != job.IndexBytes || got.Unbounded {
			t.Errorf("%s: %+v, %v; some run comes to %+v", jsonText(job.Spec), got, err, job)
		}
	}
}
