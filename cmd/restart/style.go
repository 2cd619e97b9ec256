package main

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/restartkit/restart/kube/check"
)

// style says how lines are printed: wrapped and coloured on a terminal, and as they are
// elsewhere.
type style struct {
	width  int // 0 for lines of any length
	colour bool
}

func styleOf(w io.Writer) style {
	if out, ok := w.(*output); ok {
		w = out.to
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return style{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 80
	}
	return style{width: width, colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s style) plain(text string) string { return text }

func (s style) bold(text string) string { return s.paint("1", text) }

func (s style) of(severity check.Severity) func(string) string {
	code := map[check.Severity]string{check.Error: "1;31", check.Warning: "1;33", check.Notice: "1;36"}[severity]
	return func(text string) string { return s.paint(code, text) }
}

func (s style) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// wrap breaks a text at spaces so that it fits beside an indent.
func (s style) wrap(text string, indent int) []string {
	if s.width == 0 {
		return []string{text}
	}
	return strings.Split(ansi.Wrap(text, max(s.width-indent, 20), ""), "\n")
}
