package main

import (
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// A line that is wider than the terminal would wrap, and stay there for ever.
func TestBarFitsEveryTerminal(t *testing.T) {
	for _, total := range []int32{-1, 0, 1, 3, 100000} {
		for width := 1; width < 300; width++ {
			b := &bar{size: func() (int, int) { return width, 24 }, total: &total, done: 2, counts: "1 active, 2 succeeded, 0 failed"}
			if total < 0 {
				b.total = nil
			}
			if got := b.draw(); terminal.Width(got) >= max(width, 2) || width > 1 && got == "" {
				t.Fatalf("%d completions, %d columns: %q", total, width, got)
			}
		}
	}
}

func TestBarShowsHowFarTheJobIs(t *testing.T) {
	three := int32(3)
	for _, tt := range []struct {
		width int
		want  string
	}{
		{80, "1 active, 2 succeeded, 0 failed  66% |" + strings.Repeat("█", 22) + strings.Repeat(" ", 12) + "| (2/3)"},
		{52, "1 active, 2 succeeded, 0 failed  66% |███   | (2/3)"},
		{50, "(2/3) 1 active, 2 succeeded, 0 failed"},
		{30, "(2/3) 1 active, 2 succeeded,…"},
	} {
		b := &bar{size: func() (int, int) { return tt.width, 24 }, total: &three, done: 2, counts: "1 active, 2 succeeded, 0 failed"}
		if got := b.draw(); got != tt.want {
			t.Errorf("%d columns: %q, want %q", tt.width, got, tt.want)
		}
	}
}

// A terminal that has become narrower since has wrapped the bar: all its lines go.
func TestBarIsErasedWholly(t *testing.T) {
	width := 80
	b := &bar{size: func() (int, int) { return width, 24 }, counts: strings.Repeat("x", 45)}
	if got := b.erase(); got != "" {
		t.Errorf("nothing drawn: %q", got)
	}
	b.draw()
	width = 20
	if got, want := b.erase(), "\x1b[2K\x1b[A\x1b[2K\x1b[A\x1b[2K\r"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := b.erase(); got != "" {
		t.Errorf("twice: %q", got)
	}
}
