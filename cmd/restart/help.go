package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/internal/spelling"
)

// Annotations of a verb and of its flags, for help.
const (
	exitCodes = "exit codes"
	flagGroup = "group"
)

// group puts flags under a title of their own in the help of their verb.
func group(flags *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, flagGroup, []string{title}); err != nil {
			panic(err) // no flag has the name
		}
	}
}

// help prints the purpose of a verb, how it is called, examples, its flags by group, and the
// exit codes, in this order for every verb.
func help(c *cobra.Command, _ []string) {
	w := c.OutOrStdout()
	fmt.Fprintln(w, strings.TrimSpace(cmp.Or(c.Long, c.Short)))
	section(w, "Usage", "  "+usageLine(c))
	section(w, "Examples", c.Example)
	section(w, "Verbs", verbs(c))
	width := 80
	if at := screen.StyleOf(fileOf(w)).Width; at > 0 {
		width = min(max(at-1, 40), 100)
	}
	var titles []string
	groups := make(map[string]*pflag.FlagSet)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if d, err := time.ParseDuration(f.DefValue); err == nil && d != 0 {
			f.DefValue = human.Duration(d)
		}
		title := "Flags"
		if given := f.Annotations[flagGroup]; len(given) > 0 {
			title = given[0]
		}
		if groups[title] == nil {
			titles = append(titles, title)
			groups[title] = pflag.NewFlagSet("", pflag.ContinueOnError)
			groups[title].SortFlags = false
		}
		groups[title].AddFlag(f)
	})
	for _, title := range titles {
		section(w, title, groups[title].FlagUsagesWrapped(width))
	}
	section(w, "Exit codes", c.Annotations[exitCodes])
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s VERB -h explains a verb.\n", c.CommandPath())
	}
}

// section prints a part of help, unless it is empty.
func section(w io.Writer, title, text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(w, "\n%s:\n%s\n", title, text)
	}
}

func usageLine(c *cobra.Command) string {
	if !c.HasParent() {
		return c.Name() + " VERB"
	}
	return c.UseLine()
}

// verbs lists the commands below c.
func verbs(c *cobra.Command) string {
	var lines []string
	for _, verb := range c.Commands() {
		if verb.IsAvailableCommand() {
			lines = append(lines, fmt.Sprintf("  %-10s  %s", verb.Name(), verb.Short))
		}
	}
	return strings.Join(lines, "\n")
}

// unknownVerb names the verb probably meant, by its spelling or by what other
// programs call it.
func unknownVerb(root *cobra.Command, name string) error {
	var names []string
	meant := ""
	for _, verb := range root.Commands() {
		names = append(names, verb.Name())
		if slices.Contains(verb.SuggestFor, name) {
			meant = verb.Name()
		}
	}
	if meant = cmp.Or(meant, spelling.Nearest(name, names)); meant != "" {
		return fmt.Errorf("unknown verb %s: did you mean %s?", quoted(name), meant)
	}
	return fmt.Errorf("unknown verb %s", quoted(name))
}
