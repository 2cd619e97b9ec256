package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const story = `# About the file.

# About the case.
greet who=world loud
first
  second
----
HELLO
  WORLD

greet
----

# The end.
`

func TestStoryRoundTrips(t *testing.T) {
	got, err := Parse(story)
	if err != nil {
		t.Fatal(err)
	}
	want := Story{
		Cases: []Case{
			{Line: 4, Prose: []string{"# About the file.", "", "# About the case."}, Command: "greet who=world loud",
				Input: []string{"first", "  second"}, Want: []string{"HELLO", "  WORLD"}},
			{Line: 11, Command: "greet"},
		},
		Rest: []string{"# The end."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.String() != story {
		t.Errorf("printed as\n%s", got)
	}
	args, err := got.Cases[0].Args()
	if diff := cmp.Diff(map[string]string{"who": "world", "loud": ""}, args); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if name := got.Cases[0].Name(); name != "greet" {
		t.Errorf("name %q", name)
	}
}

func TestParseRejectsBadStory(t *testing.T) {
	for text, want := range map[string]string{
		"# prose\n----\nx\n":     "---- without a command (line 2)",
		"greet\ninput\n":         `command "greet" has no ---- (line 1)`,
		"greet\n\n----\nx\n":     `command "greet" has no ---- (line 1)`,
		"greet\n----\nx\n----\n": "line 2 of the output is ---- (case of line 1)",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := (Case{Line: 3, Command: "greet a=1 a=2"}).Args(); err == nil || !strings.Contains(err.Error(), `"a" is repeated (line 3)`) {
		t.Errorf("doubled argument: %v", err)
	}
}

func FuzzStoryReadsBack(f *testing.F) {
	f.Add(story)
	f.Add("a\n----\n")
	f.Add("# x\r\n\r\n\r\n# y\r\na b=c\r\n \r\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, s)
		}
		if again.String() != s.String() {
			t.Fatalf("printed as\n%s\nthen as\n%s", s, again)
		}
	})
}

// echo answers with the case's input, counting the cases it has seen.
func echo(seen *int) func(*testing.T) func(Case) string {
	return func(*testing.T) func(Case) string {
		return func(c Case) string {
			*seen++
			return strings.ToUpper(strings.Join(c.Input, "\n"))
		}
	}
}

// setRewrite sets the flag for the length of a test.
func setRewrite(t *testing.T, to bool) {
	was := *rewrite
	*rewrite = to
	t.Cleanup(func() { *rewrite = was })
}

func TestEveryCaseRunsInOrder(t *testing.T) {
	setRewrite(t, false)
	path := filepath.Join(t.TempDir(), "a.story")
	if err := os.WriteFile(path, []byte("say\nhello\n----\nHELLO\n\nsay\nyou\n----\nYOU\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := 0
	Run(t, path, echo(&seen))
	if seen != 2 {
		t.Errorf("%d cases ran", seen)
	}
}

// With -rewrite, Run replaces only the output.
func TestRewriteKeepsAllButTheOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.story")
	const before = "# Prose.\nsay x=1\nhello\n----\nwrong\n\n# More.\nsay\nyou\n----\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	setRewrite(t, true)
	seen := 0
	Run(t, path, echo(&seen))
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Prose.\nsay x=1\nhello\n----\nHELLO\n\n# More.\nsay\nyou\n----\nYOU\n"; string(got) != want {
		t.Errorf("rewritten as\n%s", got)
	}
}

func TestBlankOutputIsRejected(t *testing.T) {
	for _, bad := range [][]string{{"a", "", "b"}, {" \t"}, {"----"}} {
		if checkBody(bad) == nil {
			t.Errorf("%q accepted", bad)
		}
	}
	if err := checkBody(slices.Repeat([]string{"x"}, 3)); err != nil {
		t.Error(err)
	}
}
