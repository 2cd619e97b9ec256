package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// TestTerminal: on a terminal there is a progress bar, and a line only for what
// is not as it should be.
func TestTerminal(t *testing.T) {
	t.Parallel()
	screen, terminal := openTerminal(t)
	cmd := exec.Command(binary, "-backoff", "1ms", "-")
	cmd.Stdin = strings.NewReader(perIndex(10, 10, "sleep 0.2; test $JOB_COMPLETION_INDEX -ne 3"))
	cmd.Stderr = terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	text, _ := io.ReadAll(screen) // ends with an error, as terminals do
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	out := string(text)
	if !strings.Contains(out, "10 active, 0 succeeded") || !strings.Contains(out, "/10") {
		t.Errorf("no progress:\n%q", out)
	}
	if strings.Contains(out, "created") || !strings.Contains(out, "failure 3 of index 3") {
		t.Errorf("other lines:\n%q", out)
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
