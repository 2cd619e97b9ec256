// Command peerbench measures this library against its peers in one process and judges
// the results by the goals of package peers.
//
// Usage, in conformance/peers:
//
//	go run ./cmd/peerbench [flags]
//
// It measures every row, or those selected by -only, prints each row once measured, and
// exits with status 1 if a goal was missed. Run this in the root of the repository to
// write PERFORMANCE.md:
//
//	go -C conformance/peers run ./cmd/peerbench -runs 3 -o ../../PERFORMANCE.md
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/conformance/peers"
	"github.com/restartkit/restart/conformance/peers/bench"
)

func main() {
	missed, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peerbench:", err)
		os.Exit(2)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// run runs the command and returns the number of missed goals.
func run() (missed int, err error) {
	var (
		list   = flag.Bool("list", false, "list the rows and their goals, and measure nothing")
		only   = flag.String("only", "", "measure only the rows whose package/name matches this regular expression")
		short  = flag.Bool("short", false, "a quick look: smaller sizes, 5 rounds of short samples")
		rounds = flag.Int("rounds", 0, "samples of each candidate; 0: 15, with -short 5")
		runs   = flag.Int("runs", 1, "measure everything this many times; a goal is met if every run meets it")
		out    = flag.String("o", "", "write the report as Markdown to this file")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return 0, fmt.Errorf("argument %q: there are none but flags; -only selects rows", flag.Arg(0))
	}
	rows, err := selectRows(peers.Rows(), *only)
	if err != nil {
		return 0, err
	}
	if *list {
		for _, r := range rows {
			fmt.Println(r)
		}
		return 0, nil
	}
	options := bench.Options{Rounds: *rounds, Runs: *runs, Short: *short}
	if options.Rounds <= 0 {
		options.Rounds = 15
		if *short {
			options.Rounds = 5
		}
	}

	start := time.Now()
	results := bench.Run(rows, options,
		func(run, row int) {
			fmt.Fprintf(os.Stderr, "run %d of %d, row %d of %d: %s\n", run+1, *runs, row+1, len(rows), rows[row].ID())
		},
		func(_ int, r bench.Result) { r.WriteText(os.Stdout) })
	report := bench.Report{
		Machine: machine(),
		Go:      runtime.Version(),
		Peers:   peerVersions(),
		Date:    time.Now().UTC().Format(time.DateOnly),
		Command: command(os.Args[1:]),
		Others: "The programs in `cmd/` run real processes and are measured there: " +
			"`go -C cmd test -tags long ./runjob -run '^$' -bench State -benchtime 5x`.",
		Options: options,
		Results: results,
	}
	missed, goals := report.Missed()
	fmt.Printf("%d of %d goals met, measured in %v\n", goals-missed, goals, time.Since(start).Round(time.Second))
	if *out == "" {
		return missed, nil
	}
	var text strings.Builder
	if err := report.WriteMarkdown(&text); err != nil {
		return missed, err
	}
	return missed, os.WriteFile(*out, []byte(text.String()), 0o644)
}

// command returns the shell command with these arguments for the root of the
// repository.
func command(args []string) string {
	words := []string{"go -C conformance/peers run ./cmd/peerbench"}
	plain := regexp.MustCompile(`^[\w./=-]+$`)
	for _, arg := range args {
		if !plain.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// selectRows returns the rows whose ID the pattern matches.
func selectRows(rows []bench.Row, pattern string) ([]bench.Row, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(r bench.Row) bool { return !re.MatchString(r.ID()) })
	if len(rows) == 0 {
		return nil, fmt.Errorf("no row matches %q; -list names them", pattern)
	}
	return rows, nil
}

// machine describes the machine.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s/%s", cmp.Or(processor(), "unknown processor"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

// processor returns the processor's name from /proc/cpuinfo, or "".
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// peerVersions returns the modules measured against and their versions.
func peerVersions() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var versions []string
	for _, m := range info.Deps {
		switch m.Path {
		case "k8s.io/client-go", "k8s.io/kubernetes", "github.com/RoaringBitmap/roaring/v2", "github.com/bits-and-blooms/bitset",
			"github.com/cenkalti/backoff/v5", "github.com/avast/retry-go/v4":
			versions = append(versions, m.Path+" "+m.Version)
		}
	}
	return versions
}
