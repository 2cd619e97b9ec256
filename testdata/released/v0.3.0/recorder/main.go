// The released command writes states in the format of this version, and beside each the
// decisions that this version takes after reading it again. The tests of later versions
// read and continue them; testdata/released/README.md describes the files.
//
//	go run ./conformance/released FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// start is the time at which each recording begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: released FOLDER")
		os.Exit(2)
	}
	for _, record := range []func(folder string){recordRestarters, recordTracker, recordExits, recordJobs} {
		record(os.Args[1])
	}
}

// write writes a value as indented JSON.
func write(folder, name string, value any) {
	text, err := json.MarshalIndent(value, "", "\t")
	must(err)
	must(os.MkdirAll(folder, 0o777))
	must(os.WriteFile(filepath.Join(folder, name), append(text, '\n'), 0o666))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// clock is a clock that stands still until it is set.
type clock struct{ now time.Time }

func newClock(now time.Time) *clock { return &clock{now} }

func (c *clock) Now() time.Time                  { return c.now }
func (c *clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// set sets the clock to a time after start.
func (c *clock) set(after time.Duration) time.Time {
	c.now = start.Add(after)
	return c.now
}
