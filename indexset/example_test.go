package indexset_test

import (
	"errors"
	"fmt"

	"github.com/restartkit/restart/indexset"
)

// A Job controller reads the completed indexes, adds those of newly ended pods, writes
// the text back and selects the next indexes to run.
func Example() {
	completed, err := indexset.Parse("0-4,7")
	if err != nil {
		fmt.Println(err)
		return
	}
	completed = completed.With(6, 9, 5)
	failed := indexset.Of(8)
	fmt.Println(completed, completed.Len())

	ended := completed.Union(failed)
	fmt.Println(ended.AppendAbsent(nil, 3, 100))
	fmt.Println(ended.Equal(indexset.FromRange(0, 9)), completed.Overlaps(failed))
	// Output:
	// 0-7,9 9
	// [10 11 12]
	// true false
}

func ExampleParse() {
	completed, err := indexset.Parse("1,3-5,7")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(completed.Len(), completed.Contains(4), completed.Contains(6))

	_, err = indexset.Parse("1,5-3")
	var bad indexset.ParseError
	if errors.As(err, &bad) {
		fmt.Printf("%q at byte %d: %s\n", bad.Text, bad.Offset, bad.Reason)
	}
	// Output:
	// 5 true false
	// "5-3" at byte 2: range ends before it starts
}

func ExampleParseLenient() {
	completed, report := indexset.ParseLenient("7,3, 5,9-12")
	fmt.Println(completed.Clip(11))
	fmt.Println(report.Skipped, "skipped,", report.Reordered, "out of order")
	fmt.Println(report.First)
	// Output:
	// 3,7,9,10
	// 1 skipped, 1 out of order
	// indexset: parse "3" at byte 2: does not come after all items before it
}

// An index that runs is neither done nor to be started.
func ExampleSet_AppendAbsent() {
	completed := indexset.MustParse("0-2,4,7")
	running := indexset.Of(3)
	fmt.Println(completed.Union(running).AppendAbsent(nil, 3, 10))
	// Output: [5 6 8]
}

func ExampleSet_Ranges() {
	for r := range indexset.Of(7, 1, 3, 4, 9, 8).Ranges() {
		fmt.Println(r.First, r.Last)
	}
	// Output:
	// 1 1
	// 3 4
	// 7 9
}

func ExampleSet_Minus() {
	succeeded := indexset.MustParse("0-9")
	failed := indexset.MustParse("3,5-7")
	fmt.Println(succeeded.Minus(failed))
	// Output:
	// 0-2,4,8,9
}

func ExampleBuilder() {
	var b indexset.Builder
	for _, i := range []int{7, 5, 6, 1} {
		b.Add(i)
	}
	b.AddRange(20, 29)
	fmt.Println(b.Set())
	// Output: 1,5-7,20-29
}
