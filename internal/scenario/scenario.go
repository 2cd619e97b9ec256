// Package scenario reads stories: text files of cases, each a command with its
// input and the output it must produce. It is for tests only.
//
// A story file looks like this:
//
//	# What the file is about, in as many lines as it takes.
//
//	# What this case shows.
//	resolve reduce=on max=2s
//	input, if any,
//	in as many lines as it takes
//	----
//	the output
//
//	resolve
//	----
//	more output
//
// Blank lines separate the cases, so neither input nor output has any. Lines that
// start with # before a command are prose and kept as they are. A command line is
// the command's name, then arguments: key=value or just a word. Values hold no
// spaces.
package scenario

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output of story files")

// Case is one case of a story.
type Case struct {
	Line    int      // of the command, counted from 1
	Prose   []string // the lines before the command, comments and blanks, as they stand
	Command string   // the whole command line
	Input   []string // between the command line and the ----
	Want    []string // after the ----
}

// Name is the first word of the command line.
func (c Case) Name() string { return strings.Fields(c.Command)[0] }

// Args returns the arguments of the command line; a word without = has the value
// "". A key given twice is an error.
func (c Case) Args() (map[string]string, error) {
	args := map[string]string{}
	for _, word := range strings.Fields(c.Command)[1:] {
		key, value, _ := strings.Cut(word, "=")
		if _, twice := args[key]; twice {
			return nil, fmt.Errorf("scenario: Case.Args(): %q is given twice (line %d)", key, c.Line)
		}
		args[key] = value
	}
	return args, nil
}

// Run runs the cases of every story that matches the pattern, in order, one
// subtest per file. start makes the function that runs the cases of one file: it
// returns a case's output, without blank lines, so cases of a file may share
// state. With -rewrite the files' expected output becomes what was returned.
func Run(t *testing.T, pattern string, start func(t *testing.T) func(c Case) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("scenario: Run(): no story matches %q (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			story, err := Parse(string(text))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if len(story.Cases) == 0 {
				t.Fatalf("%s: no cases", path)
			}
			run := start(t)
			for i, c := range story.Cases {
				got := lines(run(c))
				if err := checkBody(got); err != nil {
					t.Fatalf("%s:%d: %s: %v", path, c.Line, c.Command, err)
				}
				if !*rewrite && strings.Join(got, "\n") != strings.Join(c.Want, "\n") {
					t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", path, c.Line, c.Command,
						strings.Join(got, "\n"), strings.Join(c.Want, "\n"))
				}
				story.Cases[i].Want = got
			}
			if *rewrite && !t.Failed() {
				if err := os.WriteFile(path, []byte(story.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
