// Package cli is the command line of programs that explore Jobs under a controller.
package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/conformance/explore/jobworld"
	"github.com/restartkit/restart/internal/search"
)

// Command explores the Jobs of a table under a controller.
type Command struct {
	Name   string
	World  func(jobworld.Job) (*jobworld.World, error)
	Shapes []string // texts of the Jobs, with the number of faults in each history
	Faults string   // text of the faults that all of them allow
}

// Main runs the command with the arguments of the process, and ends the process.
func (c Command) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := c.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs the command and returns its exit code: 1 if an invariant is broken, 2 for
// wrong arguments.
func (c Command) Run(ctx context.Context, args []string, out, progress io.Writer) int {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(progress)
	only := flags.String("only", "", "explore the Jobs of the table whose text contains this")
	completions := flags.Int("completions", 3, "explore the Jobs of the table with at most so many completions")
	faults := flags.Int("faults", 15, "allow at most so many faults in a history")
	without := flags.String("without", "", "leave out these kinds of faults, such as refuse,crash")
	var ignored []string
	flags.Func("ignore", "go on beyond breaches of invariants whose text contains this; may be repeated", func(text string) error {
		ignored = append(ignored, text)
		return nil
	})
	var stops []string
	flags.Func("stop", "end histories at breaches of invariants whose text contains this; may be repeated", func(text string) error {
		stops = append(stops, text)
		return nil
	})
	job := flags.String("job", "", "explore this Job instead of the table")
	story := flags.String("story", "", "replay the story in this file instead")
	workers := flags.Int("workers", 2, "goroutines")
	first := flags.Bool("first", false, "stop after the first Job with a broken invariant")
	states := flags.Int("states", 0, "stop a Job at the first depth with so many states; 0 means never")
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0 || *faults < 0 || *workers < 1 || *states < 0:
		c.complain(progress, "wrong arguments; see -h")
		return 2
	}
	world := c.World
	c.World = func(job jobworld.Job) (*jobworld.World, error) {
		w, err := world(job)
		if err == nil {
			w.Ignore(ignored...)
			w.StopAt(stops...)
		}
		return w, err
	}
	if *story != "" {
		return c.replay(*story, out, progress)
	}
	for kind := range strings.SplitSeq(*without, ",") {
		if left := leaveOut(c.Faults, kind); kind == "" || left != c.Faults {
			c.Faults = left
			continue
		}
		c.complain(progress, fmt.Sprintf("-without: %q is none of the faults: %s", kind, c.Faults))
		return 2
	}
	if *job != "" {
		ofTable := ""
		flags.Visit(func(f *flag.Flag) {
			if slices.Contains([]string{"only", "completions", "faults", "without"}, f.Name) {
				ofTable = f.Name
			}
		})
		if ofTable != "" {
			c.complain(progress, fmt.Sprintf("-job names its faults itself; -%s is about the table", ofTable))
			return 2
		}
	}
	all := c.jobs(*only, *completions, *faults)
	if *job != "" {
		j, err := jobworld.ParseJob(*job)
		if err != nil {
			c.complain(progress, err)
			return 2
		}
		all = []jobworld.Job{j}
	}
	return c.explore(ctx, all, search.Options{Workers: *workers, States: *states}, *first, out, progress)
}

func (c Command) complain(progress io.Writer, about ...any) {
	fmt.Fprintf(progress, "%s: %s", c.Name, fmt.Sprintln(about...))
}

// leaveOut returns the text of faults without a kind.
func leaveOut(faults, kind string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(faults), func(f string) bool { return strings.HasPrefix(f, kind+"=") }), " ")
}

// jobs returns the Jobs of the table whose text contains the words, with at most that
// many completions, and with at most that many faults in a history.
func (c Command) jobs(words string, completions, faults int) (all []jobworld.Job) {
	for _, shape := range c.Shapes {
		job := jobworld.MustParseJob(shape + " " + c.Faults)
		job.Budget[jobworld.Total] = uint8(min(int(job.Budget[jobworld.Total]), faults))
		if job.Completions <= completions && strings.Contains(job.String(), words) {
			all = append(all, job)
		}
	}
	return all
}

// explore explores Jobs and prints the table.
func (c Command) explore(ctx context.Context, all []jobworld.Job, o search.Options, first bool, out, progress io.Writer) int {
	const row = "| %s | %d | %d | %d | %d | %.1f s | %s |\n"
	fmt.Fprint(out, "| Job | states | transitions | depth | ends | time | result |\n|---|---|---|---|---|---|---|\n")
	var sum search.Result
	broken, explored := 0, 0
	var stories []jobworld.Story
	for i, job := range all {
		if ctx.Err() != nil || first && broken > 0 {
			break
		}
		fmt.Fprintf(progress, "%d of %d: %s\n", i+1, len(all), c.shape(job))
		w, err := c.World(job)
		if err != nil {
			c.complain(progress, err)
			return 2
		}
		r := search.Run(ctx, w, o)
		verdict := "clean"
		switch {
		case r.Broken != nil:
			verdict = fmt.Sprintf("**%v** after %d steps", r.Broken, len(r.Story))
			stories = append(stories, w.Tell(r))
			broken++
		case !r.Complete:
			verdict = "clean so far"
		}
		fmt.Fprintf(out, row, c.shape(job), r.States, r.Transitions, r.Depth, r.Ends, r.Time.Seconds(), verdict)
		sum.States += r.States
		sum.Transitions += r.Transitions
		sum.Depth = max(sum.Depth, r.Depth)
		sum.Ends += r.Ends
		sum.Time += r.Time
		explored++
	}
	fmt.Fprintf(out, row, fmt.Sprintf("%d Jobs", explored), sum.States, sum.Transitions, sum.Depth, sum.Ends, sum.Time.Seconds(), perSecond(sum))
	for _, s := range stories {
		fmt.Fprintf(out, "\n%s", s)
	}
	if broken > 0 {
		return 1
	}
	return 0
}

// shape returns the text of a Job without the faults of every budget.
func (c Command) shape(job jobworld.Job) string {
	text := " " + job.String() + " "
	for f := range strings.FieldsSeq(c.Faults) {
		text = strings.Replace(text, " "+f+" ", " ", 1)
	}
	return strings.TrimSpace(text)
}

func perSecond(r search.Result) string {
	return fmt.Sprintf("%.0f states/s", float64(r.States)/max(r.Time, time.Millisecond).Seconds())
}

// replay replays a story and prints the invariant that it breaks.
func (c Command) replay(file string, out, progress io.Writer) int {
	text, err := os.ReadFile(file)
	if err != nil {
		c.complain(progress, err)
		return 2
	}
	story, err := jobworld.ParseStory(string(text))
	if err != nil {
		c.complain(progress, fmt.Errorf("%s: %w", file, err))
		return 2
	}
	w, err := c.World(story.Job)
	if err != nil {
		c.complain(progress, fmt.Errorf("%s: %w", file, err))
		return 2
	}
	taken, broken, err := w.Replay(story)
	switch {
	case err != nil:
		c.complain(progress, fmt.Errorf("%s: %w", file, err))
		return 2
	case broken != nil:
		fmt.Fprintf(out, "%s: after %d steps: %v\n", file, taken, broken)
		return 1
	}
	fmt.Fprintf(out, "%s: %d steps break no invariant\n", file, taken)
	return 0
}
