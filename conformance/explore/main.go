// Command explore visits every history of small Jobs under the controller of package
// jobpolicy, with all faults that their budgets allow, and checks invariants at every
// step. It prints a table of the Jobs. If an invariant is broken, it prints a shortest
// story that breaks it, and the exit code is 1. Run it in the root of the repository:
//
//	go run ./conformance/explore                       every Job of the table
//	go run ./conformance/explore -faults 1             the same, with one fault in each history
//	go run ./conformance/explore -completions 1        Jobs with one completion
//	go run ./conformance/explore -only watchOnly       those whose text contains this
//	go run ./conformance/explore -job "completions=2 parallelism=2 fail=1 crash=1 total=2"
//	go run ./conformance/explore -story FILE           replays a story
//
// README.md explains the texts of Jobs and stories.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/restartkit/restart/conformance/explore/jobworld"
	"github.com/restartkit/restart/conformance/explore/search"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command and returns its exit code.
func run(ctx context.Context, args []string, out, progress io.Writer) int {
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	flags.SetOutput(progress)
	only := flags.String("only", "", "explore the Jobs of the table whose text contains this")
	completions := flags.Int("completions", 3, "explore the Jobs of the table with at most so many completions")
	faults := flags.Int("faults", 15, "allow at most so many faults in a history")
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
		fmt.Fprintln(progress, "explore: wrong arguments; see -h")
		return 2
	}
	if *story != "" {
		return replay(*story, out, progress)
	}
	all := jobs(*only, *completions, *faults)
	if *job != "" {
		j, err := jobworld.ParseJob(*job)
		if err != nil {
			fmt.Fprintln(progress, "explore:", err)
			return 2
		}
		all = []jobworld.Job{j}
	}
	return explore(ctx, all, search.Options{Workers: *workers, States: *states}, *first, out, progress)
}

// explore explores Jobs and prints the table.
func explore(ctx context.Context, all []jobworld.Job, o search.Options, first bool, out, progress io.Writer) int {
	const row = "| %s | %d | %d | %d | %d | %.1f s | %s |\n"
	fmt.Fprint(out, "| Job | states | transitions | depth | ends | time | result |\n|---|---|---|---|---|---|---|\n")
	var sum search.Result
	broken, explored := 0, 0
	var stories []jobworld.Story
	for i, job := range all {
		if ctx.Err() != nil || first && broken > 0 {
			break
		}
		fmt.Fprintf(progress, "%d of %d: %s\n", i+1, len(all), shape(job))
		w, err := world(job)
		if err != nil {
			fmt.Fprintln(progress, "explore:", err)
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
		fmt.Fprintf(out, row, shape(job), r.States, r.Transitions, r.Depth, r.Ends, r.Time.Seconds(), verdict)
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
func shape(job jobworld.Job) string {
	text := " " + job.String() + " "
	for f := range strings.FieldsSeq(every) {
		text = strings.Replace(text, " "+f+" ", " ", 1)
	}
	return strings.TrimSpace(text)
}

func perSecond(r search.Result) string {
	return fmt.Sprintf("%.0f states/s", float64(r.States)/max(r.Time, time.Millisecond).Seconds())
}

// replay replays a story and prints the invariant that it breaks.
func replay(file string, out, progress io.Writer) int {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(progress, "explore:", err)
		return 2
	}
	story, err := jobworld.ParseStory(string(text))
	if err != nil {
		fmt.Fprintf(progress, "explore: %s: %v\n", file, err)
		return 2
	}
	w, err := world(story.Job)
	if err != nil {
		fmt.Fprintf(progress, "explore: %s: %v\n", file, err)
		return 2
	}
	taken, broken, err := w.Replay(story)
	switch {
	case err != nil:
		fmt.Fprintf(progress, "explore: %s: %v\n", file, err)
		return 2
	case broken != nil:
		fmt.Fprintf(out, "%s: after %d steps: %v\n", file, taken, broken)
		return 1
	}
	fmt.Fprintf(out, "%s: %d steps break no invariant\n", file, taken)
	return 0
}
