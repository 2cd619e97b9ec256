package screen

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

const patience = 30 * time.Second

func TestColumns(t *testing.T) {
	full := [][]string{{"NAME", "STATE", "EXIT"}, {"a-long-name", "日本", "1 (killed)"}}
	short := [][]string{{"NAME", "EXIT"}, {"a-long-name", "1"}}
	for width, want := range map[int]string{
		0:  "NAME          STATE   EXIT\na-long-name   日本    1 (killed)",
		32: "NAME          STATE   EXIT\na-long-name   日本    1 (killed)",
		31: "NAME          EXIT\na-long-name   1",
		5:  "NAME          EXIT\na-long-name   1",
	} {
		if got := strings.Join(Columns(width, full, short), "\n"); got != want {
			t.Errorf("%d:\n%s\nwant\n%s", width, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	const text = "a word, 日本 and averyverylongwordthatdoesnotfit"
	for width, want := range map[int]string{
		0:  text,
		24: "a word, 日本 and|averyverylongwordthatdoesnotfit",
		80: text,
	} {
		if got := strings.Join(Style{Width: width}.Wrap(text, 2), "|"); got != want {
			t.Errorf("%d: %s, want %s", width, got, want)
		}
	}
}

// Elsewhere than on a terminal there are only lines.
func TestLines(t *testing.T) {
	var out, notes strings.Builder
	s := New(&out, &notes)
	s.Show(func(int, int) []string { return []string{"block"} })
	s.Print("a", "one")
	s.Progress("a", "10%")
	s.Progress("b", "20%")
	s.Progress("a", "30%")
	s.Print("a", "30%")
	s.Print("a", "30%")
	s.Print("b", "done")
	s.Say(s.Style().Paint(Red, "said"))
	s.Note("noted")
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "one\n10%\n20%\n30%\n30%\ndone\nsaid\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if notes.String() != "noted\n" {
		t.Errorf("%q", notes.String())
	}
}

// Nobody reads: lines that are said do not wait, and neither does Close.
func TestNobodyReads(t *testing.T) {
	read, write := io.Pipe()
	s := New(write, io.Discard)
	for range 20 * mostLines {
		s.Say("said")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(cancelled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	read.Close()
	<-s.Failed()
	<-s.done
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	read, write := io.Pipe()
	read.Close()
	s := New(write, io.Discard)
	for range 2 * mostLines {
		s.Print("a", "one")
	}
	<-s.Failed()
	if err := s.Close(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// terminal returns a screen on a terminal of 20 columns and 6 lines.
func terminal(t *testing.T) (s *Screen, reads *os.File) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	reads, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { reads.Close(); tty.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 6, Cols: 20}); err != nil {
		t.Fatal(err)
	}
	return New(tty, tty), reads
}

// expect reads what was written to a terminal until it ends with want.
func expect(t *testing.T, from *os.File, want string) {
	t.Helper()
	want = strings.ReplaceAll(want, "\n", "\r\n")
	_ = from.SetReadDeadline(time.Now().Add(patience))
	var got []byte
	for !strings.HasSuffix(string(got), want) {
		buffer := make([]byte, 1000)
		n, err := from.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q, want %q", err, got, want)
		}
		got = append(got, buffer[:n]...)
	}
}

// On a terminal the block stays below the lines, with the progress of sources above it.
func TestBlock(t *testing.T) {
	s, terminal := terminal(t)
	s.Show(func(width, height int) []string {
		if width != 19 || height != 5 {
			t.Errorf("%d columns, %d lines", width, height)
		}
		return []string{s.Style().Paint(Green, "NAME"), "a block that is too wide"}
	})
	const block = "\x1b[32mNAME\x1b[0m\na block that is to…\n" + endUpdate
	expect(t, terminal, beginUpdate+block)
	s.Print("a", "one")
	expect(t, terminal, beginUpdate+"\x1b[2A\r\x1b[J"+"one\n"+block)
	s.Progress("a", "10%")
	expect(t, terminal, beginUpdate+"\x1b[2A\r\x1b[J"+"10%\n"+block)
	s.Note("noted")
	expect(t, terminal, beginUpdate+"\x1b[3A\r\x1b[J"+"noted\n10%\n"+block)
	s.Print("a", "done")
	expect(t, terminal, beginUpdate+"\x1b[3A\r\x1b[J"+"done\n"+block)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoColour(t *testing.T) {
	s, _ := terminal(t)
	s.Close(t.Context())
	t.Setenv("NO_COLOR", "1")
	s = New(s.terminal, s.terminal)
	if !s.Live() || s.Style().Colours || s.Style().Paint(Red, "a") != "a" {
		t.Error("it has colours")
	}
	s.Close(t.Context())
}
