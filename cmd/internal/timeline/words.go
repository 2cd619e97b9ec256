package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
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
	s := "waits " + human.Wait(time.Duration(e.Wait))
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
