package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// endText returns a description of the end of a pod or container.
func endText(e *Event) string {
	var parts []string
	if e.ExitCode != nil {
		part := fmt.Sprintf("exit code %d", *e.ExitCode)
		if e.Container != "" {
			part = "container " + text(e.Container) + ": " + part
		}
		if e.Signal != 0 {
			part += fmt.Sprintf(" (signal %d)", e.Signal)
		}
		parts = append(parts, part)
	}
	if e.Reason != "" {
		parts = append(parts, text(e.Reason))
	}
	if e.Rule != nil {
		rule := fmt.Sprintf("rule %d", *e.Rule)
		if e.RuleName != "" {
			rule += " " + text(e.RuleName)
		}
		if e.Action != "" {
			rule += " (" + text(e.Action) + ")"
		}
		parts = append(parts, rule)
	}
	return strings.Join(parts, ", ")
}

// waits returns a description of a wait and its reason.
func waits(e *Event) string {
	s := "waits " + short(time.Duration(e.Wait))
	if e.Why != "" {
		s += ": " + text(e.Why)
	}
	return s
}

func inBrackets(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + text(reason) + ")"
}

// count returns a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "x"):
		return plain(n) + " " + noun + "es"
	}
	return plain(n) + " " + noun + "s"
}

// plain returns a number with commas between thousands.
func plain(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short returns a duration with three or four digits.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d < unit {
			continue
		}
		switch unit {
		case time.Hour, time.Minute:
			return picture.Duration(d.Round(unit / 60))
		}
		return d.Round(unit / 100).String()
	}
	return d.String()
}
