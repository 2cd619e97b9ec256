package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// onTerminal shows what a terminal would after that output.
func onTerminal(t *testing.T, text string) []string {
	t.Helper()
	up := regexp.MustCompile(`^\x1b\[(\d+)A\r\x1b\[J`)
	colour := regexp.MustCompile(`^\x1b\[\d+m`)
	lines := []string{""}
	for len(text) > 0 {
		if m := up.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			if lines[len(lines)-1] != "" || n >= len(lines) {
				t.Fatalf("%d lines up from %q", n, lines)
			}
			lines = append(lines[:len(lines)-1-n], "")
			text = text[len(m[0]):]
			continue
		}
		if m := colour.FindString(text); m != "" {
			text = text[len(m):]
			continue
		}
		if text[0] == '\n' {
			lines = append(lines, "")
		} else {
			lines[len(lines)-1] += text[:1]
		}
		text = text[1:]
	}
	return lines[:len(lines)-1]
}

// On a terminal the table stays below what the commands write, once.
func TestLiveScreen(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(write, write, []command{{name: "a"}, {name: "long-name"}})
	s.live, s.colours = true, true
	rows := []row{{name: "a", state: "Running", exit: "-"}, {name: "long-name", state: "Running", exit: "-"}}
	s.output("a", []byte("before the table\r\n"))
	s.show(rows)
	s.output("long-name", []byte("no newline"))
	s.note("something")
	rows[0] = row{name: "a", state: "CrashLoopBackOff", restarts: 2, ago: 7300 * time.Millisecond, next: time.Date(2024, 1, 2, 3, 4, 5, 0, time.Local), in: 9500 * time.Millisecond, exit: "1"}
	s.show(rows)
	s.show(rows)
	write.Close()
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a         | before the table",
		"long-name | no newline",
		"supervise: something",
		"NAME        STATE              RESTARTS       NEXT                       EXIT",
		"a           CrashLoopBackOff   2 (7s ago)     03:04:05 in 9.5s           1",
		"long-name   Running            0              -                          -",
	}
	if got := onTerminal(t, string(text)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("on the terminal:\n%s", strings.Join(got, "\n"))
	}
}

// A table that is longer than the terminal is cut, so that it can be taken back.
func TestLongTable(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(write, write, nil)
	s.live = true
	var rows []row
	for i := range 50 {
		rows = append(rows, row{name: fmt.Sprint(i), state: "Running", exit: strings.Repeat("x", 100)})
	}
	s.show(rows)
	s.show(rows)
	write.Close()
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	got := onTerminal(t, string(text)) // 80 x 24, since a pipe has no size
	if len(got) != 22 || got[21] != "… and 30 more" || len(got[1]) != 79 {
		t.Errorf("on the terminal:\n%s", strings.Join(got, "\n"))
	}
}

// Otherwise each change is a line.
func TestLines(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(write, write, nil)
	a := row{name: "a", state: "Running", exit: "-"}
	b := row{name: "b", state: "Running", restarts: 1, ago: time.Second, exit: "-"}
	s.show([]row{a, b})
	b.ago = time.Minute
	s.show([]row{a, b})
	a.exit = "3"
	s.show([]row{a, b})
	write.Close()
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	want := `NAME   STATE              RESTARTS       NEXT                       EXIT
a      Running            0              -                          -
b      Running            1 (1s ago)     -                          -
a      Running            0              -                          3
`
	if string(text) != want {
		t.Errorf("printed\n%s", text)
	}
}
