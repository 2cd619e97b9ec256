// Command mutants breaks the library in one place at a time and shows which test
// notices. Run it in the root of the repository:
//
//	go run ./conformance/mutants                               every chosen mutation of every package
//	go run ./conformance/mutants backoff                       those of one package
//	go run ./conformance/mutants -what G5 pleg                 those whose description contains G5
//	go run ./conformance/mutants -w                            and write the table into README.md beside the lists
//	go run ./conformance/mutants -random 60 -seed 1 backoff    a random sample of all mutants of a package
//
// The chosen mutations of package p stand in conformance/mutants/p.txt, separated by
// blank lines. Lines that both texts share may stand around the change, behind a
// space:
//
//	# what it breaks, in a few words
//	file.go
//	-	the line as it is
//	+	the line as it would be
//
// A third line "? TestName text" before the change names the one test that has to
// notice, with two thousand random histories, and what it then prints.
//
// A random sample is drawn from all mutants of the package's files: operators
// replaced by their opposites, bounds moved, conditions negated, statements and
// cases dropped, returned values zeroed, break and continue swapped. What does
// not compile is not counted. Only the tests of the package itself run, not those
// below it.
//
// The mutants of package p that nobody can tell from the original stand in
// conformance/mutants/equivalent/p.txt, in the same form, the reason behind the #. An
// entry that is no possible mutant any more is an error; one that a test notices
// says so in its line. Survivors are printed in this form, too.
//
// No file is changed: the mutated one is laid over the original for one run of
// the package's tests. The exit code is 1 if a chosen mutation survives, or if
// less than 95 % (-enough) of the random mutants that are not equivalent are
// noticed, of each package if at least 20 were tried there, else in all. Tests that do not end within their time limit have noticed.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/utils/clock"
)

func main() {
	write := flag.Bool("w", false, "write the table of the chosen mutations into README.md beside the lists")
	what := flag.String("what", "", "try only chosen mutations whose description contains this")
	random := flag.Int("random", 0, "try so many random mutants of each package instead of the chosen ones")
	d := draw{clock: clock.RealClock{}}
	flag.Uint64Var(&d.seed, "seed", 1, "the seed of the random sample")
	flag.IntVar(&d.parallel, "parallel", 1, "try so many random mutants at a time")
	flag.DurationVar(&d.limit, "limit", 0, "the time limit of the tests over a random mutant; 0: three times as long as without one, and half a minute")
	flag.Float64Var(&d.enough, "enough", 95, "the percentage of the random mutants to be noticed")
	flag.Parse()
	d.tries = *random
	if *write && *what != "" {
		fmt.Fprintln(os.Stderr, "mutants: -w writes the whole table, -what tries a part")
		os.Exit(2)
	}
	if err := run(flag.Args(), d, *what, *write); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(packages []string, d draw, what string, write bool) error {
	if len(packages) == 0 {
		var err error
		if packages, err = listed(); err != nil {
			return err
		}
	}
	if d.tries > 0 {
		return trySamples(packages, d)
	}
	return tryChosen(packages, what, write)
}
