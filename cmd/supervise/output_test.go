package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// The last line of a command that ends at once is never lost, and comes before its
// end is printed.
func TestLastLineIsNeverLost(t *testing.T) {
	t.Parallel()
	commands := []string{"commands:"}
	for i := range 50 {
		commands = append(commands, fmt.Sprintf(`
- name: c%d
  command: [printf, 'the last line of %[1]d']
  restartPolicy: Never
`, i))
	}
	dir := t.TempDir()
	p := start(t, dir, "-f", file(t, dir, "c.yaml", strings.Join(commands, "")))
	p.Done(exitOK)
	out := p.Out.String()
	for i := range 50 {
		line := strings.Index(out, fmt.Sprintf("| the last line of %d\n", i))
		if end := strings.Index(out, fmt.Sprintf("   c%d ", i)); line < 0 || end < 0 {
			t.Errorf("c%d: line at %d", i, line)
		}
	}
	if got := strings.LastIndex(out, "| the last"); got > strings.LastIndex(out, "Completed") {
		t.Error("output after the end")
	}
}

// Control characters of a command are shown, not sent; its colours only on request.
func TestCommandsCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	const script = `printf 'a\033[2J\007 \rforged\n\033[31mred\n'`
	for flag, red := range map[string]string{"-colours=false": `\x1b[31mred`, "-colours": "\x1b[31mred\x1b[0m"} {
		p := start(t, t.TempDir(), flag, "-restart-policy", "Never", "--", "sh", "-c", script)
		p.Done(exitOK)
		for _, want := range []string{`sh   | a\x1b[2J\x07 \rforged` + "\n", "sh   | " + red + "\n"} { // a table may be between them
			if !strings.Contains(p.Out.String(), want) {
				t.Errorf("%s: want %q:\n%q", flag, want, p.Out.String())
			}
		}
	}
}

// While the output is unread, a signal ends supervise as soon as its commands are gone,
// not at the end of the grace period. Unread output is lost.
func TestBlockedOutputDelaysNoEndOfSupervise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := programtest.New(t, "-grace", "1h", "--", "sh", "-c", "echo >> log; exec yes")
	p.Dir = dir
	p.Pipe()
	p.Start()
	p.Eventually("a start", func() bool { _, err := os.Stat(dir + "/log"); return err == nil })
	p.Signal(syscall.SIGTERM)
	p.Done(128 + int(syscall.SIGTERM))
}

// supervise ends when the reader of its output is gone.
func TestSuperviseEndsWhenItsReaderIsGone(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = "%s -- sh -c 'while :; do echo x; sleep 0.01; done' | head -n 3"
	p := start(t, t.TempDir(), "-restart-policy", "Never", "--", "sh", "-c", fmt.Sprintf(script, self))
	p.Done(exitOK)
}

// A table that cannot be written, or the help, is no success, whatever the command
// comes to.
func TestUnwrittenTableIsAnError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"-restart-policy", "Never", "--", "true"}, {"--", "sleep", "1000"}} {
		programtest.FullDisk(t, exitUnwritten, args...)
	}
}
