// Command mutants breaks the library in one place at a time and shows which test
// notices. Run it in the root of the repository:
//
//	go run ./conformance/mutants                               every chosen mutation of every package
//	go run ./conformance/mutants backoff                       those of one package
//	go run ./conformance/mutants -what G5 pleg                 those whose description contains G5
//	go run ./conformance/mutants -w                            and write the table into README.md beside the lists
//	go run ./conformance/mutants -random 60 -seed 1 backoff    a random sample of all mutants of a package
//	go run ./conformance/mutants -explore                      those of jobpolicy and pleg, explored instead of tested
//
// The chosen mutations of package p are in conformance/mutants/p.txt, separated by
// blank lines. Unchanged context lines may surround the change, each after a space:
//
//	# what it breaks, in a few words
//	file.go
//	-	the line as it is
//	+	the line as it would be
//
// A third line "? TestName text" before the change names the one test that must notice,
// with two thousand random histories, and the text it must print.
//
// A random sample is drawn from all mutants of the package's files. They replace
// operators by their opposites, move bounds, negate conditions, drop statements and
// cases, zero returned values, and swap break and continue. Mutants must compile to be
// counted. Only the package's own tests run, without those of packages below it.
//
// Mutants of package p equivalent to the original are in
// conformance/mutants/equivalent/p.txt, in the same form, with the reason after the #.
// An entry no longer among the possible mutants is an error. If a test notices an
// entry, its line of output says so. Survivors are printed in the same form.
//
// With -explore, ./conformance/explore looks for a shortest story in which a chosen
// mutant of package jobpolicy breaks an invariant, first without faults in a history,
// then with one, then with two. For mutants of pleg and pleg/statuscache, their test
// TestExplorations does so. The tables are those of README.md and pleg.md in
// conformance/explore. A mutant that breaks none is no error; these documents say why.
//
// Files are not changed. The mutated file overlays the original for one run of the
// package's tests, and a run that exceeds its time limit counts as noticed. The exit
// code is 1 if a chosen mutation survives, or if less than 95 % (-enough) of the random
// mutants not equivalent are noticed, judged for each package with at least 20 tried,
// else for all together.
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
	explore := flag.Bool("explore", false, "explore the chosen mutations of jobpolicy, pleg and pleg/statuscache instead of running all tests")
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
	tried := run
	if *explore {
		tried = exploreChosen
	}
	if err := tried(flag.Args(), d, *what, *write); err != nil {
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
