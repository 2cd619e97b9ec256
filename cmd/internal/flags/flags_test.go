package flags

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

const aboutProg = "\nAbout:\n  -completion shell\n    \tprint completions for a shell: bash, zsh or fish. For bash:\n    \tsource <(prog -completion bash)\n  -version\n    \tprint the version and exit\n"

func TestRefusedSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		args       string
		out        io.Writer
		code       int
		says, help string
	}{
		{args: "-h", code: 0, help: "Usage: prog\n\nFlags:\n  -all\n    \t\n  -for duration\n    \t\n  -n number\n    \ta number (default 1)\n  -share float\n    \t\n\nOther flags:\n  -size int\n    \t\n" + aboutProg + "\nSee also: x\n"},
		{args: "help", code: 0, help: "Usage: prog\n\nFlags:\n  -all\n    \t\n  -for duration\n    \t\n  -n number\n    \ta number (default 1)\n  -share float\n    \t\n\nOther flags:\n  -size int\n    \t\n" + aboutProg + "\nSee also: x\n"},
		{args: "-h", out: full{}, code: 3, says: "prog: no space left on device\n"},
		{args: "-n x", code: 2, says: "prog: invalid value \"x\" for flag -n: must be a whole number\nTry prog -h.\n"},
		{args: "-n 99999999999999999999", code: 2, says: "prog: invalid value \"99999999999999999999\" for flag -n: value out of range\nTry prog -h.\n"},
		{args: "-share x", code: 2, says: "prog: invalid value \"x\" for flag -share: must be a number\nTry prog -h.\n"},
		{args: "-for 5", code: 2, says: "prog: invalid value \"5\" for flag -for: must have a unit, as 10s or 5m\nTry prog -h.\n"},
		{args: "-for 99999999h", code: 2, says: "prog: invalid value \"99999999h\" for flag -for: must be shorter than 290 years\nTry prog -h.\n"},
		{args: "-for 5d", code: 2, says: "prog: invalid value \"5d\" for flag -for: must be a number with a unit, h, m, s or ms, as 10s or 5m\nTry prog -h.\n"},
		{args: "-shrae 1", code: 2, says: "prog: flag provided but not defined: -shrae: did you mean -share?\nTry prog -h.\n"},
		{args: "--SIZE=1", code: 2, says: "prog: flag provided but not defined: -SIZE: did you mean -size?\nTry prog -h.\n"},
		{args: "-all=5", code: 2, says: "prog: invalid boolean value \"5\" for -all: must be true or false\nTry prog -h.\n"},
		{args: "-\x1b[2J", code: 2, says: "prog: flag provided but not defined: -\\x1b[2J\nTry prog -h.\n"},
	} {
		s := New("prog", "Usage: prog\n", "\nSee also: x\n")
		s.Int("n", 1, "a `number`")
		s.Bool("all", false, "")
		s.Float64("share", 0, "")
		s.Duration("for", 0, "")
		s.Group("Flags")
		s.Int("size", 0, "")
		s.Group("Other flags")
		var stdout, stderr bytes.Buffer
		out := io.Writer(&stdout)
		if test.out != nil {
			out = test.out
		}
		err := s.Parse(strings.Fields(test.args), out)
		if err == nil {
			t.Fatalf("%q: no error", test.args)
		}
		if code := Refused("prog", err, &stderr); code != test.code || stderr.String() != test.says {
			t.Errorf("%q: exit code %d, says\n%swant %d\n%s", test.args, code, &stderr, test.code, test.says)
		}
		if stdout.String() != test.help {
			t.Errorf("%q: printed\n%swant\n%s", test.args, &stdout, test.help)
		}
	}
}

func TestGivenNamesOnlyFlagsThatWereGiven(t *testing.T) {
	s := New("prog", "", "")
	s.Int("n", 1, "")
	s.Int("m", 1, "")
	if err := s.Parse([]string{"-n", "1"}, io.Discard); err != nil || len(s.Given()) != 1 || !s.Given()["n"] {
		t.Errorf("given %v, %v", s.Given(), err)
	}
}
