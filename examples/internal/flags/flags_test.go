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

func TestRefusedSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		args       string
		out        io.Writer
		code       int
		says, help string
	}{
		{args: "-h", code: 0, help: "Usage: prog\n  -n number\n    \ta number (default 1)\n"},
		{args: "-h", out: full{}, code: 3, says: "prog: no space left on device\n"},
		{args: "-n x", code: 2, says: "prog: invalid value \"x\" for flag -n: parse error\nTry prog -h.\n"},
		{args: "-\x1b[2J", code: 2, says: "prog: flag provided but not defined: -\\x1b[2J\nTry prog -h.\n"},
	} {
		s := New("prog", "Usage: prog\n")
		s.Int("n", 1, "a `number`")
		var stdout, stderr bytes.Buffer
		out := io.Writer(&stdout)
		if test.out != nil {
			out = test.out
		}
		err := s.Parse(strings.Fields(test.args), out)
		if err == nil {
			t.Fatalf("%q: no error", test.args)
		}
		if code := Refused("prog", err, &stderr, 3); code != test.code || stderr.String() != test.says {
			t.Errorf("%q: exit code %d, says\n%swant %d\n%s", test.args, code, &stderr, test.code, test.says)
		}
		if stdout.String() != test.help {
			t.Errorf("%q: printed\n%swant\n%s", test.args, &stdout, test.help)
		}
	}
}

func TestGivenNamesOnlyFlagsThatWereGiven(t *testing.T) {
	s := New("prog", "")
	s.Int("n", 1, "")
	s.Int("m", 1, "")
	if err := s.Parse([]string{"-n", "1"}, io.Discard); err != nil || len(s.Given()) != 1 || !s.Given()["n"] {
		t.Errorf("given %v, %v", s.Given(), err)
	}
}
