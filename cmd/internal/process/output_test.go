//go:build unix

package process

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// texts describes lines, each progress with a > after it and each repeated one with =.
func texts(lines []Line) string {
	var all []string
	for _, l := range lines {
		text := fmt.Sprintf("%q", l.Text)
		if l.Progress {
			text += ">"
		}
		if l.Again {
			text += "="
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		parts []string // ~ is a pause
		want  string
	}{
		{[]string{"a\nb"}, `"a" "b"`},
		{[]string{"\n\na\n"}, `"" "" "a"`},
		{[]string{"a", "b", "\n"}, `"ab"`},
		{[]string{"a\r\nb\r\n"}, `"a" "b"`},
		{[]string{"a\r", "\nb\r\n"}, `"a" "b"`},
		{[]string{"a\r", "~", "\n"}, `"a"> "a"=`},
		{[]string{"prompt: ", "~", "x\n"}, `"prompt: x"`},
		{[]string{"\r10%", "~", "\r20%", "~", "\r30%", "~", "\n"}, `"10%"> "20%"> "30%"> "30%"=`},
		{[]string{"10%\r", "~", "20%\r", "~", "30%\r"}, `"10%"> "20%"> "30%"`},
		{[]string{"10%\r20%\r30%\r", "done\n"}, `"10%"> "done"`}, // more often than it may
		{[]string{"10%\r", "~", "done\nb\n"}, `"10%"> "done" "b"`},
		{[]string{"\r10", "~", "%\n"}, `"10"> "10%"`},
		{[]string{"\r\x1b[K10%", "~", "\r\x1b[2K20%\n"}, `"10%"> "20%"`},
		{[]string{"a\x1b[K\n"}, `"a\\x1b[K"`},
		{[]string{"\x1b[31mred\a\n\x1b[H\n"}, `"\x1b[31mred\\x07\x1b[0m" "\\x1b[H"`},
		{[]string{"\r", "~", "\r", "~"}, ``},
	} {
		var got []Line
		l := &lines{print: func(line Line) { got = append(got, line) }, colours: true}
		now := time.Unix(1, 0)
		for _, part := range c.parts {
			if part == "~" {
				now = now.Add(progressPause)
				l.flushAt(now)
				now = now.Add(progressPause)
				continue
			}
			l.write([]byte(part), now)
		}
		l.end()
		if texts(got) != c.want {
			t.Errorf("%q:\n%s, want\n%s", c.parts, texts(got), c.want)
		}
	}
}

// A line without an end is cut, so that it does not fill the memory.
func TestLongLines(t *testing.T) {
	var lengths []int
	l := &lines{print: func(l Line) { lengths = append(lengths, len(l.Text)) }}
	l.write([]byte(strings.Repeat("x", 2*longestLine+3)+"\n"+strings.Repeat("\a", longestLine)+"\n"), time.Time{})
	l.end()
	if want := fmt.Sprint([]int{longestLine, longestLine, 3, 4 * longestLine, 0}); fmt.Sprint(lengths) != want {
		t.Errorf("%v, want %s", lengths, want)
	}
}

// Progress is shown while it happens: the command goes on only after each one was seen.
func TestProgressIsPassedOnAtOnce(t *testing.T) {
	r := newRunner(t)
	dir := t.TempDir()
	p := start(t, r, `mkfifo go1 go2 go3; for i in 1 2 3; do printf '\rstep %s' $i; read x <go$i; done; echo`, func(c *Command) { c.Dir = dir })
	for i := 1; i <= 3; i++ {
		p.says(fmt.Sprintf("step %d", i))
		start(t, r, fmt.Sprint("echo >go", i), func(c *Command) { c.Dir = dir }).ended()
	}
	p.says("step 3")
	p.ended()
}

// A command whose output nobody takes ends all the same.
func TestOutputThatNobodyTakes(t *testing.T) {
	r := newRunner(t)
	stuck := make(chan bool)
	defer close(stuck)
	p := start(t, r, "echo a; echo b", func(c *Command) { c.Output = func(Line) { <-stuck } })
	p.ended()
}
