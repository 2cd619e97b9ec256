package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/cmd/internal/timeline"
)

// checkPicture returns an error if the picture cannot be written to path, as far as
// this can be known in advance.
func checkPicture(flag, path string) error {
	if _, err := picture.Ending(path, ".svg", ".html"); err != nil {
		return fmt.Errorf("-%s %s: %w", flag, path, err)
	}
	if err := writable(path); err != nil {
		return fmt.Errorf("-%s: %w", flag, err)
	}
	return nil
}

// writable returns an error if a file cannot be written. It does not change the file.
func writable(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		return errors.Join(file.Close(), os.Remove(path))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if file, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil {
		return err
	}
	return file.Close()
}

// writeChart draws a chart in the format of path's extension and returns the full path.
func writeChart(path string, chart *timeline.Chart) (string, error) {
	ending, err := picture.Ending(path, ".svg", ".html")
	switch {
	case err != nil:
		return "", err
	case ending == ".svg":
		return picture.Write(path, chart.SVG())
	}
	return picture.Write(path, chart.HTML())
}

// draw writes the picture of -timeline and prints its path.
func (r *recorder) draw(o *options, say func(format string, args ...any)) error {
	if o.timeline == "" || !r.begun {
		return nil
	}
	events := r.kept
	if o.events != "" {
		var err error
		if events, _, err = readEvents(o.events); err != nil {
			return fmt.Errorf("-timeline: %w", err)
		}
	}
	if r.dropped {
		say("the timeline ends after %d events", len(events))
	}
	whole, err := writeChart(o.timeline, timeline.Layout(events))
	if err != nil {
		return fmt.Errorf("-timeline: %w", err)
	}
	say("wrote %s", whole)
	return nil
}

func readEvents(path string) (events []timeline.Event, torn bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	if events, torn, err = timeline.Read(file); err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	return events, torn, nil
}

const timelineUsage = `Usage: runjob timeline EVENTS -o FILE

Draws a run from its file of -events, even if the run still goes on or was cut
off. Each index is a row, and each attempt a bar. Above 200 indexes, failed
indexes and those with the most attempts come first, up to 120 of them with a
row each; the others form groups.
`

const timelineMore = `
Exit codes:
  0  the picture is written
  2  a flag or the file of events is wrong
  3  the picture cannot be written
`

// drawEvents runs "runjob timeline" and returns the exit code.
func drawEvents(args []string, stdout, stderr io.Writer) int {
	var output string
	set := flags.New("runjob timeline", timelineUsage, timelineMore)
	set.StringVar(&output, "o", "", "`file` to draw: .svg, or .html, which zooms and shows more")
	set.Group("Flags")
	var files []string
	err := set.Parse(args, stdout)
	for err == nil && set.NArg() > 0 { // flags may follow the file
		files = append(files, set.Arg(0))
		err = set.Parse(set.Args()[1:], stdout)
	}
	switch {
	case err != nil:
	case len(files) != 1:
		err = errors.New("one file of events is needed")
	case output == "":
		err = errors.New("-o is needed")
	case samePath(files[0], output):
		err = fmt.Errorf("-o: %s is the file of events", output)
	default:
		err = checkPicture("o", output)
	}
	if err != nil {
		return flags.Refused("runjob timeline", err, stderr)
	}
	complain := func(err error, code int) int {
		fmt.Fprintf(stderr, "runjob timeline: %s\n", terminal.Escape(err.Error()))
		return code
	}
	events, torn, err := readEvents(files[0])
	switch {
	case err != nil:
		return complain(err, exitBad)
	case len(events) == 0:
		return complain(fmt.Errorf("%s: no events", files[0]), exitBad)
	case torn:
		fmt.Fprintln(stderr, "runjob timeline: the last line is incomplete and left out")
	}
	whole, err := writeChart(output, timeline.Layout(events))
	if err != nil {
		return complain(err, exitUnwritten)
	}
	fmt.Fprintf(stderr, "runjob timeline: wrote %s\n", terminal.Escape(whole))
	return exitComplete
}
