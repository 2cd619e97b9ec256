package explain

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Texts from the cluster become one printable line of bounded length.
func TestTextsAreOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " a\n\tb  c ": "a b c", "\x1b[31mred": "\uFFFD[31mred", "\u202eabc": "\uFFFDabc", "ä…": "ä…", "a\xffb": "a\uFFFDb",
	} {
		if got := line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("x", 10_000), strings.Repeat("x ", 10_000), strings.Repeat("xx ", 10_000)} {
		if n := utf8.RuneCountInString(line(long)); n < mostText || n > mostText+2 {
			t.Errorf("%d runes are left of %q…", n, long[:4])
		}
	}
}

func TestCounted(t *testing.T) {
	for noun, want := range map[string]string{"pod": "2 pods", "index": "2 indexes", "try": "2 tries"} {
		if got := counted(2, noun); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The layers above a program that cannot be started put their names in front of the cause.
func TestTheCauseComesFirst(t *testing.T) {
	const cause = `exec: "nope": executable file not found in $PATH`
	for text, want := range map[string]string{
		"failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: " + cause + ": unknown":                                     cause,
		"Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: " + cause + ": unknown": "Error: " + cause,
		`failed to start containerd task "main": ` + cause: cause,
		"failed to start container \"4f1c\": Error response from daemon: OCI runtime create failed: container_linux.go:380: starting container process caused: " + cause + ": unknown": cause,
		"rpc error: code = Unknown desc = failed to start container \"4f1c\": " + cause:                                                                                                cause,
		"a runtime that fails: unknown": "a runtime that fails: unknown",
		cause:                           cause,
	} {
		if got := line(text); got != want {
			t.Errorf("%q:\n%q", text, got)
		}
		if got := ending(text); got != want {
			t.Errorf("%q:\n%q", text, got)
		}
	}
}

// The message of a container may be the end of its log, whose last lines say most.
func TestEndings(t *testing.T) {
	log := strings.Repeat("watching\n", 100) + "F0709 leaderelection lost\n\n"
	if got := lastLine(log); got != "F0709 leaderelection lost" {
		t.Errorf("last line: %q", got)
	}
	if got := ending(log); !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, " watching F0709 leaderelection lost") || utf8.RuneCountInString(got) > mostText+1 {
		t.Errorf("ending: %q", got)
	}
	for _, text := range []string{"", "\n", "one line"} {
		if lastLine(text) != line(text) || ending(text) != line(text) {
			t.Errorf("%q: %q, %q", text, lastLine(text), ending(text))
		}
	}
}
