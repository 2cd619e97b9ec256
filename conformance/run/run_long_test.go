//go:build long

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programMode is the environment variable that turns the test binary into one of the
// programs below.
const programMode = "CONFORMANCE_RUN_PROGRAM"

func TestMain(m *testing.M) {
	if program := programs[os.Getenv(programMode)]; program != nil {
		program()
		return
	}
	os.Exit(m.Run())
}

// programs are the programs that the tests ask about restart delays. All except "right"
// do something wrong or unusual.
var programs = map[string]func(){
	"right": answerAll,
	"reversed": func() {
		all := slices.Collect(questions())
		slices.Reverse(all)
		for _, q := range all {
			fmt.Println(q.answer())
		}
	},
	"off by one": func() {
		for q := range questions() {
			q.Base++
			fmt.Println(q.answer())
		}
	},
	"in other numbers": func() {
		for q := range questions() {
			fmt.Println(strings.ReplaceAll(q.answer(), "10000,", "1e4,"))
		}
	},
	"dies": func() {
		for q := range questions() {
			fmt.Println(q.answer())
			fmt.Fprintln(os.Stderr, "out of ideas")
			os.Exit(3)
		}
	},
	"does not read": func() { os.Exit(0) },
	"silent":        func() { _, _ = io.Copy(io.Discard, os.Stdin); hang() },
	"chatters for ever": func() {
		for {
			fmt.Println("still thinking")
		}
	},
	"garbage": func() {
		for q := range questions() {
			fmt.Println("asked: " + q.ID)
			fmt.Println(q.answer())
			fmt.Println()
		}
	},
	"huge line": func() {
		fmt.Println(strings.Repeat("x", maxLine+1))
		answerAll()
	},
	"no end of line": func() {
		var all []string
		for q := range questions() {
			all = append(all, q.answer())
		}
		fmt.Print(strings.Join(all, "\n"))
	},
	"floods stderr": func() {
		noise := strings.Repeat("y", 1<<20)
		for range 20 {
			fmt.Fprintln(os.Stderr, noise)
		}
		fmt.Println("{}")
	},
	"wrong ids": func() {
		for q := range questions() {
			q.ID += "0"
			fmt.Println(q.answer())
		}
	},
	"no ids": func() {
		for range questions() {
			fmt.Println(`{"got":1}`)
		}
	},
	"twice": func() {
		for q := range questions() {
			fmt.Println(q.answer())
			fmt.Println(q.answer())
		}
	},
	"undecided": func() {
		for q := range questions() {
			fmt.Printf(`{"id":%q,"got":1,"unsupported":true}`+"\n", q.ID)
		}
	},
	"unsupported": func() {
		for q := range questions() {
			fmt.Printf(`{"id":%q,"unsupported":true,"why":"no delays\nhere"}`+"\n", q.ID)
		}
	},
	"errors": func() {
		for q := range questions() {
			fmt.Printf(`{"id":%q,"error":"division by zero"}`+"\n", q.ID)
		}
	},
	"null": func() {
		for q := range questions() {
			fmt.Printf(`{"id":%q,"got":null}`+"\n", q.ID)
		}
	},
}

// question is a question about restart delays.
type question struct {
	ID    string  `json:"id"`
	Kind  string  `json:"kind"`
	Base  int64   `json:"base_ms"`
	Max   int64   `json:"max_ms"`
	Reset int64   `json:"reset_ms"`
	Runs  []int64 `json:"runs_ms"`
}

// hang waits for ever.
func hang() {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // select {} alone is a deadlock
	<-interrupts
}

func answerAll() {
	for q := range questions() {
		fmt.Println(q.answer())
	}
}

func questions() func(func(question) bool) {
	return func(yield func(question) bool) {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			var q question
			if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
				panic(err)
			}
			if !yield(q) {
				return
			}
		}
	}
}

// answer computes the delays slowly, from all runs since the last reset.
func (q question) answer() string {
	delays := []int64{}
	inARow, since := 0, int64(0)
	for _, run := range q.Runs {
		since += run
		reset := 2 * q.Max
		if q.Kind == "restartdelay/crashloop" {
			since, reset = run, q.Reset
		}
		if inARow++; since > reset {
			inARow = 1
		}
		doublings := inARow - 1
		if q.Kind == "restartdelay/crashloop" {
			doublings--
		}
		delay := q.Base
		for range doublings {
			delay = min(2*delay, q.Max)
		}
		if doublings < 0 {
			delay = 0
		}
		since = delay
		delays = append(delays, delay)
	}
	text, err := json.Marshal(map[string]any{"id": q.ID, "got": map[string]any{"delays_ms": delays}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// runner runs the command with a program and returns the exit code and the output.
func runner(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("VECTORS_DIR", "")
	t.Setenv(programMode, program)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if program != "" {
		args = append(args, "--", self)
	}
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestPrograms(t *testing.T) {
	const one = "restartdelay/del-r-04" // 10 s doubled up to 10 m, 9 failures
	for _, tt := range []struct {
		program, only string
		code          int
		want          []string // parts of the output
	}{
		{"right", "", 0, []string{"   32    32      0     0            0  all"}},
		{"reversed", "", 0, []string{"   32    32      0     0            0  all"}},
		{"no end of line", "", 0, []string{"   32    32      0     0            0  all"}},
		{"in other numbers", "", 0, []string{"   32    32      0     0            0  all"}},
		{"off by one", one, 1, []string{"    1     0      0     1            0  all", "failed: " + one + "\n\twant.delays_ms[0]: got 10001, want 10000", "\tand 1 more"}},
		{"dies", "", 1, []string{"   32     1      0    31            0  all", "the program ended without an answer: exit status 3", "stderr:\n\tout of ideas"}},
		{"does not read", "", 1, []string{"   32     0      0    32            0  all", "exit status 0"}},
		{"garbage", one, 1, []string{"    1     1      0     0            0  all", "wrong: stdout: not an answer: asked: restartdelay/del-r-04"}},
		{"huge line", one, 1, []string{"    1     1      0     0            0  all", "wrong: stdout: a line of more than 16777216 bytes: xxx"}},
		{"floods stderr", one, 1, []string{"failed: " + one, "an answer without an id: {}", "stderr:\n\tyyy"}},
		{"wrong ids", one, 1, []string{"failed: " + one, "wrong: stdout: an answer to a question not asked: {"}},
		{"no ids", one, 1, []string{"failed: " + one, "wrong: stdout: an answer without an id: {"}},
		{"undecided", one, 1, []string{"failed: " + one, "none or several of got, unsupported and error: {"}},
		{"unsupported", "", 0, []string{"   32     0      0     0           32  all", "unsupported, 32 cases: no delays here"}},
		{"errors", one, 1, []string{"failed: " + one + "\n\terror: division by zero"}},
		{"null", one, 1, []string{"failed: " + one + "\n\twant: got null, want {"}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			code, out, errs := runner(t, tt.program, "-file", "restartdelay", "-only", tt.only)
			if code != tt.code || errs != "" {
				t.Errorf("exit code %d, want %d; stderr %q", code, tt.code, errs)
			}
			for _, part := range tt.want {
				if !strings.Contains(out, part) {
					t.Errorf("%q is not in:\n%s", part, out)
				}
			}
		})
	}
}

// A second answer is wrong even if it comes with the last awaited one still missing.
func TestSecondAnswerIsWrong(t *testing.T) {
	code, out, _ := runner(t, "twice", "-file", "restartdelay")
	if code != 1 || !strings.Contains(out, "wrong: stdout: a second answer: {") || !strings.Contains(out, "32    32") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A program that gives no awaited answer is ended, even if it writes other lines.
func TestSilentProgramsAreEnded(t *testing.T) {
	for _, program := range []string{"silent", "chatters for ever"} {
		code, out, _ := runner(t, program, "-file", "restartdelay", "-timeout", "1s")
		if code != 1 || !strings.Contains(out, "no answer within 1s") {
			t.Errorf("%s: exit code %d:\n%s", program, code, out)
		}
	}
}

// Of what a program writes to stderr, only the end is kept.
func TestStderrIsBounded(t *testing.T) {
	var end tail
	for n := range 100 {
		fmt.Fprintf(&end, "%d%s", n, strings.Repeat(" ", maxStderr/2))
	}
	if len(end.text) != maxStderr || end.String() != "99" && !strings.HasSuffix(end.String(), " 99") {
		t.Errorf("%d bytes: %q", len(end.text), end.String())
	}
}

func TestKnownDifferences(t *testing.T) {
	const id = "restartdelay/del-r-04"
	for _, tt := range []struct {
		program, known string
		code           int
		want           string
	}{
		{"off by one", id + ": one more\n", 0, "known, 1 case: one more"},
		{"off by one", "# all\n\n " + id + ":  one more \nother/x: not asked\n", 0, "known, 1 case: one more"},
		{"right", id + ": one more\n", 1, "wrong: " + id + " is listed as known, but passes"},
		{"unsupported", id + ": one more\n", 1, "wrong: " + id + " is listed as known, but is unsupported"},
		{"errors", id + ": one more\n", 1, "failed: " + id},
		{"dies", id + ": one more\n" + id + ": again\n", 2, id + " is there twice"},
		{"right", "a reason alone\n", 2, `:1: want "id: reason"`},
	} {
		path := filepath.Join(t.TempDir(), "known.txt")
		if err := os.WriteFile(path, []byte(tt.known), 0o666); err != nil {
			t.Fatal(err)
		}
		code, out, errs := runner(t, tt.program, "-only", id, "-known", path)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%s, known %q: exit code %d, want %d and %q; got\n%s%s", tt.program, tt.known, code, tt.code, tt.want, out, errs)
		}
	}
}

func TestReportIsTheSameEachTime(t *testing.T) {
	const want = `# Right

Answers to the [recorded cases](../vectors/README.md), version VERSION. Written by ` + "`.ci/conformance -w`" + `.

| kind | cases | pass | known | fail | unsupported |
|---|---|---|---|---|---|
| restartdelay/crashloop | 18 | 18 | 0 | 0 | 0 |
| restartdelay/retry | 14 | 14 | 0 | 0 | 0 |
| all | 32 | 32 | 0 | 0 | 0 |
`
	version, err := os.ReadFile("../vectors/VERSION")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"right", "reversed"} {
		path := filepath.Join(t.TempDir(), "report.md")
		if code, out, errs := runner(t, program, "-file", "restartdelay", "-name", "Right", "-report", path); code != 0 {
			t.Fatalf("exit code %d:\n%s%s", code, out, errs)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(want, "VERSION", strings.TrimSpace(string(version)), 1); string(got) != want {
			t.Errorf("%s: got\n%s\nwant\n%s", program, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-h"}, 0, "usage: run [flags] -- PROGRAM"},
		{nil, 2, "no program; put its command behind --"},
		{[]string{"-timeout", "0", "x"}, 2, "-timeout 0s: must be positive"},
		{[]string{"-questions", "x"}, 2, "-questions starts no program"},
		{[]string{"-file", "nothing", "x"}, 2, "-file nothing: no such file; there are backoffrecord, "},
		{[]string{"-kind", "nothing", "x"}, 2, "-kind nothing: no such kind; there are backoffrecord, "},
		{[]string{"-only", "(", "x"}, 2, "-only: error parsing regexp"},
		{[]string{"-only", "nothing", "x"}, 2, "no case is left to ask"},
		{[]string{"-known", "no/such/file", "x"}, 2, "-known: open no/such/file"},
		{[]string{"no/such/program"}, 2, "no/such/program"},
		{[]string{"-questions", "-only", "^finishtime/fin-t-02$"}, 0, `{"id":"finishtime/fin-t-02","kind":"finishtime","pod":{`},
		{[]string{"-questions", "-kind", "remaining/global,finishtime", "-only", "rem-t-01"}, 0, `"kind":"remaining/global"`},
	} {
		code, out, errs := runner(t, "", tt.args...)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%q: exit code %d, want %d and %q; got\n%s%s", tt.args, code, tt.code, tt.want, out, errs)
		}
	}
}

// A program of a few lines in another language passes the cases of restart delays, and
// README.md shows the result.
func TestShellProgram(t *testing.T) {
	for _, needed := range []string{"sh", "awk"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip(err)
		}
	}
	var out, errs bytes.Buffer
	t.Setenv("VECTORS_DIR", "")
	code := run(t.Context(), []string{"-file", "restartdelay", "--", "sh", "testdata/delays.sh"}, &out, &errs)
	if code != 0 || !strings.Contains(out.String(), "   32    32      0     0            0  all") {
		t.Errorf("exit code %d:\n%s%s", code, &out, &errs)
	}
	page, err := os.ReadFile("../vectors/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```\n"+out.String()+"```\n") {
		t.Errorf("README.md does not show\n%s", &out)
	}
}
