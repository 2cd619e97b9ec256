// Package scenario runs stories, which are text files of cases, in tests. A case is a
// command with its input and expected output.
//
// A story file looks like this:
//
//	# What the file is about.
//
//	# What this case shows.
//	resolve reduce=on max=2s
//	input, if any
//	----
//	the output
//
//	resolve
//	----
//	more output
//
// Blank lines separate cases, so input and output must not contain any. Lines before a
// command that begin with # are prose. An argument of a command is key=value or a
// single word, and has no spaces.
package scenario

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the actual output to the story files")

// Case is one case of a story.
type Case struct {
	Line    int      // of the command, from 1
	Prose   []string // lines before the command
	Command string   // the command line
	Input   []string // lines between the command and the ----
	Want    []string // lines after the ----
}

// Name returns the first word of the command line.
func (c Case) Name() string { return strings.Fields(c.Command)[0] }

// Args returns the arguments of the command line by key. A single word is a key with
// the value "".
func (c Case) Args() (map[string]string, error) {
	args := map[string]string{}
	for _, word := range strings.Fields(c.Command)[1:] {
		key, value, _ := strings.Cut(word, "=")
		if _, twice := args[key]; twice {
			return nil, fmt.Errorf("scenario: Case.Args(): %q is repeated (line %d)", key, c.Line)
		}
		args[key] = value
	}
	return args, nil
}

// Run runs every story whose path matches pattern. Each story is a subtest, which runs
// the cases in order: it calls start once, and then the returned function with each case,
// for its output. With the flag -rewrite, Run writes the outputs to the story's file
// instead of comparing them.
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
