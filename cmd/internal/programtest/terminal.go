package programtest

import (
	"io"
	"os"
	"time"

	"github.com/creack/pty"
)

// terminal is a pseudo-terminal for the output of a program under test.
type terminal struct {
	screen, tty *os.File
	read        chan struct{} // closed when all output has been read
}

// Terminal returns a terminal for the Stdout or Stderr of an unstarted program. Output
// to it is added to seen.
func (p *Program) Terminal(seen *Buffer, columns, lines int) *os.File {
	p.t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { screen.Close() })
	if err := pty.Setsize(screen, &pty.Winsize{Cols: uint16(columns), Rows: uint16(lines)}); err != nil {
		p.t.Fatal(err)
	}
	p.Env = append(p.Env, "TERM=xterm")
	terminal := &terminal{screen, tty, make(chan struct{})}
	go func() {
		defer close(terminal.read)
		_, _ = io.Copy(seen, screen) // ends with an error, as terminals do
	}()
	p.terminals = append(p.terminals, terminal)
	return tty
}

// started closes this process's end of the terminal, so that reading ends with the
// program.
func (t *terminal) started() { t.tty.Close() }

// ended waits until all output has been read, but not for ever if another process holds
// the terminal open.
func (t *terminal) ended() {
	select {
	case <-t.read:
	case <-time.After(Patience / 4):
	}
}
