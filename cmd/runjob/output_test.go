package main

import (
	"strings"
	"testing"
)

// Lines of a process have a prefix, are whole, and come before the end of their pod.
func TestOutputOfAPodComesBeforeItsEnd(t *testing.T) {
	t.Parallel()
	p := start(t, job(1, 30, `
printf 'no line break'
echo; echo error >&2
head -c 100000 /dev/zero | tr '\0' x
`), "-")
	p.Done(exitComplete)
	text := p.Err.String()
	for _, want := range []string{"test-0-1 main | no line break\n", "test-0-1 main | error\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q:\n%.2000s", want, text)
		}
	}
	if n := strings.Count(text, "x"); n < 100000 {
		t.Errorf("%d bytes of output", n)
	}
	if strings.Index(text, "succeeded") < strings.LastIndex(text, "main | ") {
		t.Error("output after the end")
	}
}

// Control characters of a process are shown, not sent; its colours only on request.
func TestProcessesCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	script := `printf 'a\033[2J\033]0;pwned\007 \377\000 \rforged\n\033[31mred\033[0m\n\033[1mbold\n'`
	plain := start(t, job(1, 30, script), "-")
	plain.Done(exitComplete)
	for _, want := range []string{`main | a\x1b[2J\x1b]0;pwned\x07 \xff\x00 \rforged` + "\n", `main | \x1b[31mred\x1b[0m` + "\n"} {
		if !strings.Contains(plain.Err.String(), want) {
			t.Errorf("want %q:\n%q", want, plain.Err.String())
		}
	}
	coloured := start(t, job(1, 30, script), "-colours", "-")
	coloured.Done(exitComplete)
	for _, want := range []string{`main | a\x1b[2J\x1b]0;pwned\x07 \xff\x00 \rforged` + "\n", "main | \x1b[31mred\x1b[0m", "main | \x1b[1mbold\x1b[0m\n"} {
		if !strings.Contains(coloured.Err.String(), want) {
			t.Errorf("want %q:\n%q", want, coloured.Err.String())
		}
	}
}
