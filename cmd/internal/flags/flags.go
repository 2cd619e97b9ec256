// Package flags parses the flags of this module's programs, and writes their help texts
// and errors.
package flags

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/internal/spelling"
)

// Set holds the flags of a program. It is not safe for concurrent use.
type Set struct {
	*flag.FlagSet
	Subcommands  []string // completions of the first argument
	above, below string
	groups       []group
}

// group is a set of flags described together in the help text.
type group struct {
	title string
	flags *flag.FlagSet
}

// New returns a Set without flags. The help text describes its flags between above and
// below.
func New(program, above, below string) *Set {
	s := &Set{FlagSet: flag.NewFlagSet(program, flag.ContinueOnError), above: above, below: below}
	s.SetOutput(io.Discard) // the caller of Parse prints errors
	return s
}

// Group adds a titled section of the help text for the flags defined since the last
// call. The help text omits flags outside groups.
func (s *Set) Group(title string) {
	g := group{title, flag.NewFlagSet(title, flag.ContinueOnError)}
	s.VisitAll(func(f *flag.Flag) {
		if !s.grouped(f.Name) {
			g.flags.Var(f.Value, f.Name, f.Usage)
			g.flags.Lookup(f.Name).DefValue = f.DefValue
		}
	})
	s.groups = append(s.groups, g)
}

func (s *Set) grouped(name string) bool {
	return slices.ContainsFunc(s.groups, func(g group) bool { return g.flags.Lookup(name) != nil })
}

// Parse parses the arguments. If they ask for help (by a flag or the word alone), the
// version or completions, Parse writes that to stdout and returns flag.ErrHelp or an
// Unwritten error.
func (s *Set) Parse(args []string, stdout io.Writer) error {
	if len(args) == 1 && args[0] == "help" {
		args = []string{"-h"}
	}
	var about about
	if s.Lookup("version") == nil && !strings.Contains(s.Name(), " ") { // subcommands have neither
		about.define(s)
	}
	err := s.FlagSet.Parse(args)
	if err == nil {
		asked, err := about.print(s, stdout)
		if err != nil {
			return Unwritten{err}
		}
		if asked {
			return flag.ErrHelp
		}
		return nil
	}
	if !errors.Is(err, flag.ErrHelp) {
		return s.explained(err)
	}
	var help bytes.Buffer
	help.WriteString(s.above)
	for _, g := range s.groups {
		help.WriteString("\n" + g.title + ":\n")
		g.flags.SetOutput(&help)
		g.flags.PrintDefaults()
	}
	help.WriteString(s.below)
	if _, err := stdout.Write(help.Bytes()); err != nil {
		return Unwritten{err}
	}
	return err
}

// explained adds the name of the flag probably meant, or the expected value if package
// flag only says "parse error".
func (s *Set) explained(err error) error {
	if err == nil {
		return nil
	}
	if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
		var known []string
		s.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		if meant := spelling.Nearest(name, known); meant != "" {
			return fmt.Errorf("%w: did you mean -%s?", err, meant)
		}
		return err
	}
	text, unclear := strings.CutSuffix(err.Error(), ": parse error")
	if !unclear {
		return err
	}
	s.VisitAll(func(f *flag.Flag) {
		value, ok := f.Value.(flag.Getter)
		if !ok || !strings.HasSuffix(text, " -"+f.Name) {
			return
		}
		switch value.Get().(type) {
		case bool:
			err = errors.New(text + ": must be true or false")
		case int:
			err = errors.New(text + ": must be a whole number")
		case float64:
			err = errors.New(text + ": must be a number")
		case time.Duration:
			err = errors.New(text + ": " + durationMistake(text))
		}
	})
	return err
}

// withUnits matches durations that time.ParseDuration refuses only for their size.
var withUnits = regexp.MustCompile(`"[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(h|m|s|ms|us|µs|ns))+"`)

// durationMistake returns the requirement that the duration quoted in text fails.
func durationMistake(text string) string {
	_, value, _ := strings.Cut(text, `"`)
	value, _, _ = strings.Cut(value, `"`)
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return "must have a unit, as 10s or 5m"
	}
	if withUnits.MatchString(text) {
		return "must be shorter than 290 years"
	}
	return "must be a number with a unit, h, m, s or ms, as 10s or 5m"
}

// Given returns the names of the flags set by the arguments.
func (s *Set) Given() map[string]bool {
	given := make(map[string]bool)
	s.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// Exit codes with the same meaning in every program.
const (
	ExitOK        = 0
	ExitUsage     = 2 // wrong flag or file; no command was started
	ExitUnwritten = 3 // the output, the state or a file cannot be written
)

// Unwritten marks an error of writing the output, the state or a file.
type Unwritten struct{ Err error }

func (u Unwritten) Error() string { return u.Err.Error() }

// Unwrap returns the marked error.
func (u Unwritten) Unwrap() error { return u.Err }

// Refused prints an error of Parse or of the program's own checks. It returns ExitOK if
// the user asked for help, ExitUnwritten if the help text could not be written, and
// ExitUsage otherwise.
func Refused(program string, err error, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		return ExitOK
	}
	fmt.Fprintf(stderr, "%s: %s\n", program, terminal.EscapeLines(err.Error()))
	if errors.As(err, &Unwritten{}) {
		return ExitUnwritten
	}
	fmt.Fprintf(stderr, "Try %s -h.\n", program)
	return ExitUsage
}
