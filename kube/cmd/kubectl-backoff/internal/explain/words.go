package explain

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// mostText is the number of runes printed of a text from the cluster.
const mostText = 400

// line returns a text from the cluster as one printable line, with the cause first. Such
// texts may contain line breaks, and escape sequences that would command the terminal.
func line(s string) string {
	s = causeFirst(s)
	var b strings.Builder
	space, n := false, 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !unicode.IsPrint(r):
			r = '\uFFFD'
		}
		if n >= mostText {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
			n++
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// ending returns the end of a text such as the last lines of a log, as one printable line.
func ending(s string) string {
	s = causeFirst(s)
	runes := []rune(strings.TrimSpace(s))
	if len(runes) <= mostText {
		return line(s)
	}
	return "…" + line(string(runes[len(runes)-mostText:]))
}

// lastLine returns the last line of a text, blank ones apart, as a printable one.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return ending(s[strings.LastIndexByte(s, '\n')+1:])
}

// listedOr joins values, such as "a, b or c".
func listedOr[S ~string](all []S) string {
	var b strings.Builder
	for i, s := range all {
		switch {
		case i > 0 && i == len(all)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return b.String()
}

// runtimePrefix matches the words that a container runtime and the layers above it put in
// front of the reason why a container could not be started.
var runtimePrefix = regexp.MustCompile(`(?:failed to (?:create|start) containerd task(?: "[^"]*")?: |failed to create (?:shim )?task(?: for container)?: |failed to start container "[^"]*": |Error response from daemon: |rpc error: code = \w+ desc = |OCI runtime (?:create|start|exec) failed: |runc (?:create|start|run) failed: |container_linux\.go:\d+: starting container process caused: |unable to start container process: |error during container init: )+`)

// causeFirst returns a text without the runtime's prefix and without the ": unknown" that
// containerd adds at its end.
func causeFirst(text string) string {
	cut := runtimePrefix.ReplaceAllString(text, "")
	if cut == text {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(cut, " \n"), ": unknown")
}

// Line is line for other packages, Short is short, and Counted is counted.
func Line(s string) string { return line(s) }

func Short(d time.Duration) string { return short(d) }

func Counted(n int, noun string) string { return counted(n, noun) }

// counted returns a number with its noun, such as "1 pod" and "2 pods".
func counted[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	plural := noun + "s"
	switch {
	case strings.HasSuffix(noun, "x"):
		plural = noun + "es"
	case strings.HasSuffix(noun, "ry"):
		plural = strings.TrimSuffix(noun, "y") + "ies"
	}
	return fmt.Sprintf("%d %s", n, plural)
}

// short formats a duration without parts that do not matter, such as 3s, 2m5s, 4h10m
// and 3d2h.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-max(d, -math.MaxInt64))
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		d = d.Round(time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
	default:
		hours := int64(d.Round(time.Hour).Hours())
		return daysText(hours/24, hours%24)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func daysText(days, hours int64) string {
	if hours == 0 {
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%dh", days, hours)
}

// rest is short for the time until something happens, in whole seconds, rounded up.
func rest(d time.Duration) string { return short((d + time.Second - 1).Truncate(time.Second)) }

// clock formats a time in the zone of now, with its date unless it is today.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ago formats a time in the past, such as "12:00:00 (5s ago)".
func ago(t, now time.Time) string {
	if t.After(now) {
		return clock(t, now) + " (in the future)"
	}
	return fmt.Sprintf("%s (%s ago)", clock(t, now), short(now.Sub(t)))
}

// until formats a time in the future, such as "12:00:05, in 5s".
func until(t, now time.Time) string {
	if !t.After(now) {
		return fmt.Sprintf("%s, %s ago", clock(t, now), short(now.Sub(t)))
	}
	return fmt.Sprintf("%s, in %s", clock(t, now), short(t.Sub(now)))
}

// when formats a Start.
func (s Start) when(o Options) string {
	now, text := o.Now, ""
	switch {
	case s.Never:
		return "never"
	case !s.Known():
		return "unknown"
	case now.After(s.To) && o.Undated:
		text = fmt.Sprintf("by %s (%s ago), perhaps after the files were taken", clock(s.To, now), short(now.Sub(s.To)))
	case now.After(s.To):
		text = fmt.Sprintf("overdue since %s (%s); its node or controller is busy or gone", clock(s.To, now), short(now.Sub(s.To)))
	case now.Before(s.From):
		text = fmt.Sprintf("between %s and %s (in %s to %s)", clock(s.From, now), clock(s.To, now), rest(s.From.Sub(now)), rest(s.To.Sub(now)))
	default:
		text = fmt.Sprintf("at any moment, by %s (within %s)", clock(s.To, now), rest(s.To.Sub(now)))
	}
	if s.Estimated {
		text = "estimated: " + text
	}
	return text
}
