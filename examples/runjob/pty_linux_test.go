package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/restartkit/restart/examples/internal/programtest"
)

// TestTerminal: on a terminal there is a progress bar, and a line only for what
// is not as it should be.
func TestTerminal(t *testing.T) {
	t.Parallel()
	screen, terminal := openTerminal(t)
	gate := newGate(t)
	p := programtest.New(t, "-backoff", "1ms", "-")
	p.Stdin, p.Stderr = strings.NewReader(perIndex(10, 10, gate.wait+"test $JOB_COMPLETION_INDEX -ne 3")), terminal
	p.Env = append(p.Env, "TERM=xterm")
	p.Start()
	terminal.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&p.Err, screen) // ends with an error, as terminals do
	}()
	p.Err.Says("10 active, 0 succeeded", 1)
	gate.open(t)
	p.Done(exitFailed)
	<-read
	out := p.Err.String()
	if !strings.Contains(out, "/10") {
		t.Errorf("no progress:\n%q", out)
	}
	if strings.Contains(out, "created") || !strings.Contains(out, "failure 3 of index 3") {
		t.Errorf("other lines:\n%q", out)
	}
}

// TestColours: the decision has a colour on a terminal, unless the user or the
// terminal has none.
func TestColours(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"TERM=xterm NO_COLOR=":  "\x1b[32m# Complete",
		"TERM=xterm NO_COLOR=1": "\n# Complete",
		"TERM=dumb NO_COLOR=":   "\n# Complete",
	} {
		screen, terminal := openTerminal(t)
		p := programtest.New(t, "../testdata/sidecar.yaml")
		p.Env = append(p.Env, strings.Fields(env)...)
		p.Stdout = terminal
		p.Start()
		terminal.Close()
		text, _ := io.ReadAll(screen) // ends with an error, as terminals do
		p.Done(exitComplete)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: want %q:\n%q", env, want, text)
		}
	}
}

// openTerminal returns the two ends of a pseudo-terminal.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	number, unlock := int32(0), int32(0)
	ioctl(t, screen, syscall.TIOCSPTLCK, &unlock)
	ioctl(t, screen, syscall.TIOCGPTN, &number)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg *int32) {
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(arg))); err != 0 {
		t.Fatal(err)
	}
}
