package curve

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/internal/spelling"
)

// Bounds of the input. They limit the restarts that are counted one by one, and
// keep sums of times within a Duration.
const (
	ShortestDelay = time.Millisecond
	Longest       = 10 * 365 * 24 * time.Hour
	LeastFactor   = 1.01 // except 1
	MostFree      = 1000
	LongestName   = 40 // letters
	Most          = 8  // curves in a picture
)

// Parse parses [NAME=]CURVE[,OPTION=VALUE]…, where CURVE is the name of a system or
// INITIAL/MAX, such as 1s/60s.
func Parse(text string) (Curve, error) {
	words := strings.Split(text, ",")
	name, base, named := strings.Cut(words[0], "=")
	if !named {
		name, base = text, words[0]
		if utf8.RuneCountInString(name) > LongestName {
			name = base
		}
	}
	name = strings.TrimSpace(name)
	if err := CheckName(name); err != nil {
		return Curve{}, err
	}
	c, err := parseBase(base)
	if err != nil {
		return c, err
	}
	c.Name = name
	for _, option := range words[1:] {
		key, value, ok := strings.Cut(option, "=")
		if !ok {
			return c, fmt.Errorf("option %q is not NAME=VALUE", option)
		}
		if err := c.set(key, value); err != nil {
			return c, fmt.Errorf("option %s: %w", key, err)
		}
	}
	return c, c.Policy.Validate()
}

// CheckName returns an error unless name can be printed beside a line.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return errors.New("the name has characters that cannot be printed")
	case utf8.RuneCountInString(name) > LongestName:
		return fmt.Errorf("the name is longer than %d letters", LongestName)
	}
	return nil
}

// parseBase parses a system's name or INITIAL/MAX.
func parseBase(text string) (c Curve, err error) {
	systems := Systems()
	i := slices.IndexFunc(systems, func(s System) bool { return s.Curve.Name == text })
	if i >= 0 && systems[i].Refused != "" {
		return c, fmt.Errorf("%s cannot be expressed exactly: %s", text, systems[i].Refused)
	}
	if i >= 0 {
		return systems[i].Curve, nil
	}
	initial, longest, ok := strings.Cut(text, "/")
	if !ok {
		hint := ""
		if meant := spelling.Nearest(text, Names()); meant != "" {
			hint = fmt.Sprintf(": did you mean %s?", meant)
		}
		return c, fmt.Errorf("%q is neither a preset (%s) nor INITIAL/MAX such as 1s/60s%s", text, strings.Join(Names(), ", "), hint)
	}
	if c.Policy.Initial, err = ParseDuration(initial, ShortestDelay); err != nil {
		return c, err
	}
	if c.Policy.Max, err = ParseDuration(longest, ShortestDelay); err != nil {
		return c, err
	}
	if c.Policy.Max < c.Policy.Initial {
		return c, fmt.Errorf("MAX %s is below INITIAL %s", longest, initial)
	}
	c.Policy.ResetAfter = backoff.CrashLoop().ResetAfter // as in KEP-4603 for every curve
	return c, nil
}

// set applies one option.
func (c *Curve) set(key, value string) (err error) {
	switch key {
	case "max":
		var longest time.Duration
		longest, err = ParseDuration(value, ShortestDelay)
		c.Policy = c.Policy.WithMax(longest)
	case "factor":
		c.Policy.Factor, err = strconv.ParseFloat(value, 64)
		if err != nil || !FactorAllowed(c.Policy.Factor) {
			err = fmt.Errorf("%q is not 1 or a number from %v on", value, LeastFactor)
		}
	case "free":
		c.Policy.FreeFailures, err = strconv.Atoi(value)
		if err != nil || c.Policy.FreeFailures < 0 || c.Policy.FreeFailures > MostFree {
			err = fmt.Errorf("%q is not a whole number in 0..%d", value, MostFree)
		}
	case "reset":
		c.Policy.ResetAfter, err = ParseDuration(value, time.Nanosecond)
	case "run":
		c.Run, err = ParseDuration(value, 0)
	default:
		err = errors.New("unknown; must be max, factor, free, reset or run")
	}
	return err
}

// FactorAllowed reports whether delays may grow by this factor. Slower growth would take
// too many steps to count.
func FactorAllowed(factor float64) bool {
	return factor == 1 || factor >= LeastFactor && !math.IsInf(factor, 1)
}

// ParseDuration parses a duration in least..Longest and ignores spaces.
func ParseDuration(text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 10s or 1m30s", text)
	case d < least || d > Longest:
		return 0, fmt.Errorf("%s is not in %s..%s", text, human.Duration(least), human.Duration(Longest))
	}
	return d, nil
}
