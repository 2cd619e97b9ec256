//go:build long

package main

import (
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// Sixty commands on a terminal of 24 lines: those that have crashed are seen, with
// their exit codes, the rest is counted, and what was there before stays.
func TestTableOfSixtyCommandsOnATerminal(t *testing.T) {
	t.Parallel()
	commands := []string{"commands:"}
	for i := range 60 {
		run := "exec sleep 1000"
		if i > 56 {
			run = "exit 3"
		}
		commands = append(commands, fmt.Sprintf("- {name: payments-reconciliation-worker-europe-west-%02d, command: [sh, -c, %q]}", i, run))
	}
	dir := t.TempDir()
	config := file(t, dir, "c.yaml", strings.Join(commands, "\n"))
	for _, size := range []struct {
		width, height, shown int
		name                 string
	}{
		{80, 24, 21, "payments-*…*-west-5[789]"},
		{200, 24, 21, "payments-reconciliation-worker-europe-west-5[789]"},
		{60, 10, 7, "paym*…*-5[789]"},
	} {
		p := programtest.New(t, "-f", config)
		p.Stdout = p.Terminal(&p.Out, size.width, size.height)
		p.Start()
		total := fmt.Sprintf("60 commands: 3 crashed, 57 running; showing %d", size.shown)
		p.Out.Says(total, 1)
		text := p.Out.String()
		if end := strings.LastIndex(text, total); end >= 0 {
			text = text[:end+len(total)] + "\n" // whole tables
		}
		d := newDisplay(t, size.width, size.height, text)
		lines := strings.Split(d.text(), "\n")
		if d.scrolled() > 0 || d.wrapped > 0 || len(lines) != size.height-1 {
			t.Errorf("%d x %d: scrolled %d lines, wrapped %d, %d lines:\n%s", size.width, size.height, d.scrolled(), d.wrapped, len(lines), d.text())
			continue
		}
		for i := range 3 {
			words := strings.Fields(lines[1+i])
			if ok, _ := path.Match(size.name, words[0]); !ok || words[1] != "CrashLoopBackOff" || words[len(words)-1] != "3" {
				t.Errorf("%d x %d: line %d is %q", size.width, size.height, 1+i, lines[1+i])
			}
		}
		p.Signal(syscall.SIGUSR1)
		p.Out.Says("payments-reconciliation-worker-europe-west-30   Running", 1)
		p.Signal(syscall.SIGTERM)
		p.Done(143)
	}
}
