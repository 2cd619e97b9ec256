package flags

import (
	"bytes"
	"errors"
	"flag"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func aboutSet() *Set {
	s := New("prog", "", "")
	s.Subcommands = []string{"draw", "drop"}
	s.Int("size", 0, "a user's `number`\nof things")
	s.Float64("share", 0, "")
	s.Group("Flags")
	return s
}

func TestVersionNamesTheBuild(t *testing.T) {
	var out bytes.Buffer
	if err := aboutSet().Parse([]string{"-version"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "prog ") || !strings.HasSuffix(text, " "+runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+"\n") {
		t.Errorf("%q", text)
	}
	if err := aboutSet().Parse([]string{"-version"}, full{}); !errors.As(err, &Unwritten{}) {
		t.Error(err)
	}
}

// bash completes flags and, in place of the first argument, subcommands.
func TestCompletionsOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing")
	}
	var script bytes.Buffer
	if err := aboutSet().Parse([]string{"-completion", "bash"}, &script); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"prog -s":       "-share -size",
		"prog -":        "-completion -share -size -version",
		"prog d":        "draw drop",
		"prog -share d": "", // names of files, which bash adds
		"prog x":        "",
	} {
		text := script.String() + "COMP_WORDS=(" + words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _prog; echo ${COMPREPLY[@]}"
		out, err := exec.Command(bash, "-c", text).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", words, got, want, err)
		}
	}
}

func TestCompletionsOfOtherShells(t *testing.T) {
	for shell, want := range map[string]string{
		"zsh":  "bashcompinit\n_prog() {\n",
		"fish": "complete -c prog -o size -d 'a user\\'s number'\n",
	} {
		var script bytes.Buffer
		if err := aboutSet().Parse([]string{"-completion", shell}, &script); !errors.Is(err, flag.ErrHelp) || !strings.Contains(script.String(), want) {
			t.Errorf("%s: %v, %s", shell, err, &script)
		}
	}
	if err := aboutSet().Parse([]string{"-completion", "cmd"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "must be bash, zsh or fish") {
		t.Error(err)
	}
}
