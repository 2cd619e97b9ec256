// Command indexset keeps the completed indexes of a batch as a set and finds the next
// ones to run.
//
// It prints:
//
//	0-7,9 9 false
//	[8 10]
package main

import (
	"fmt"

	"github.com/restartkit/restart/indexset"
)

func main() {
	done := indexset.MustParse("0-4,7").With(5, 6, 9)
	fmt.Println(done, done.Len(), done.Contains(8))
	fmt.Println(done.AppendAbsent(nil, 2, 100)) // the next two to run
}
