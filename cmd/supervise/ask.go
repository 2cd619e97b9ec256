package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

const askUsage = `Usage: supervise %s -state FOLDER %s

%s
`

const askMore = `
Exit codes:
  0  done
  1  no supervise answers, or it refuses
  2  a flag or a name is missing or wrong
  3  the output cannot be written
`

// asks holds the arguments and the help text of each verb.
var asks = map[string][2]string{
	"status":  {"[NAME]...", "Prints the table of the supervise that runs with the same -state, for all or\nthe named commands."},
	"restart": {"NAME...", "Restarts commands of the supervise that runs with the same -state at once. It\nterminates a running command first, ends the wait of a waiting one, and starts\nanew a command that has ended for good. The counts of failures stay the same."},
	"stop":    {"NAME...", "Terminates commands of the supervise that runs with the same -state. They stay\nstopped until \"supervise restart\", even in the next supervise with that state."},
}

// ask implements "supervise status", "supervise restart" and "supervise stop". It
// returns the exit code.
func ask(verb string, args []string, stdout, stderr io.Writer) int {
	var folder string
	program := "supervise " + verb
	set := flags.New(program, fmt.Sprintf(askUsage, verb, asks[verb][0], asks[verb][1]), askMore)
	set.StringVar(&folder, "state", "", "`folder` of the supervise to ask")
	set.Group("Flags")
	var names []string
	err := set.Parse(args, stdout)
	for err == nil && set.NArg() > 0 { // flags may follow names
		names = append(names, set.Arg(0))
		err = set.Parse(set.Args()[1:], stdout)
	}
	switch {
	case err != nil:
	case folder == "":
		err = errors.New("-state is needed")
	case verb != "status" && len(names) == 0:
		err = errors.New("the name of a command is needed")
	}
	if err != nil {
		return flags.Refused(program, err, stderr)
	}
	a, err := exchange(folder, request{Verb: verb, Names: names})
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", program, terminal.Escape(err.Error()))
		return exitFailed
	}
	for _, line := range terminal.Align(a.Table, columnGap) {
		if _, err := fmt.Fprintln(stdout, terminal.Escape(line)); err != nil {
			fmt.Fprintf(stderr, "%s: %s\n", program, terminal.Escape(err.Error()))
			return exitUnwritten
		}
	}
	return exitOK
}

// exchange sends a request to the supervise that uses dir as its state folder, and
// returns the answer.
func exchange(dir string, r request) (answer, error) {
	var a answer
	folder, err := statefolder.At(dir)
	if err != nil {
		return a, fmt.Errorf("-state: %w", err)
	}
	defer folder.Close()
	conn, err := folder.Dial(socketFile)
	if err != nil {
		return a, fmt.Errorf("-state: no supervise runs with %s: %w", dir, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(requestTime))
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return a, err
	}
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return a, fmt.Errorf("no answer: %w", err)
	}
	return a, nil
}
