package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/restartkit/restart/backoff"
)

// claim is a number in the text of KEP-4603, and the number that the library gives.
type claim struct {
	what string
	kep  string
	here float64
}

// kepClaims returns the claims in the order of the text.
func kepClaims() []claim {
	const pods, requests = 110, 5 // a full node, and the requests per restart in the text
	today, reduced, node := backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.CrashLoop().WithMax(second)
	restarts := func(p backoff.Policy, run, from, to time.Duration) float64 {
		return float64(p.Restarts(run, backoff.Window{From: from, To: to}))
	}
	excess := func(p backoff.Policy, from, to time.Duration) float64 {
		return restarts(p, 0, from, to) - restarts(today, 0, from, to)
	}
	busiest := func(p backoff.Policy) float64 {
		return curve{policy: p, groups: []group{{pods: pods}}}.busiest(10*second) * requests
	}
	from := func(initial, longest time.Duration) backoff.Policy {
		return backoff.Policy{Initial: initial, Max: longest}
	}
	later, fast := excess(reduced, 10*minute, 15*minute), excess(node, 10*minute, 15*minute)
	return []claim{
		{"1s/60s: excess restarts in the first 5 minutes", "5", excess(reduced, 0, 5*minute)},
		{"1s/60s: of these before 30s", "3", excess(reduced, 0, 30*second-1)},
		{"1s/60s: of these after 150s", "2", excess(reduced, 150*second, 5*minute)},
		{"1s/60s: excess in every further 5 minutes", "5", later},
		{"1s/60s: excess requests of a pod in that time", "25", later * requests},
		{"1s/60s: excess requests of 110 pods in that time", "2750", later * requests * pods},
		{"today: requests of 110 pods in the busiest 10s", "~550", busiest(today)},
		{"1s/60s: requests of 110 pods in the busiest 10s", "~5500", busiest(reduced)},
		{"1s maximum: requests of 110 pods in the busiest 10s", "5500", busiest(node)},
		{"1s maximum: excess restarts in the first 5 minutes", "305", excess(node, 0, 5*minute)},
		{"1s maximum: excess in every further 5 minutes", "310", fast},
		{"1s maximum: excess requests of a pod in that time", "~1550", fast * requests},
		{"1s maximum: excess requests of 110 pods in that time", "170500", fast * requests * pods},
		{"1s maximum: these requests per 10s", "~568", fast * requests * pods / 30},
		{"runs of 9:59: restarts in 30 minutes", "2", restarts(today, 10*minute-second, 0, 30*minute)},
		{"runs of 10s: restarts in 30 minutes", "about 10", restarts(today, 10*second, 0, 30*minute)},
		{"runs of 10s: of these in the first 5 minutes", "4", restarts(today, 10*second, 0, 5*minute)},
		{"1s/300s: restarts up to 10s", "3", restarts(from(second, 300*second), 0, 0, 10*second)},
		{"1s/300s: restarts after 10s, up to 30s", "1", restarts(from(second, 300*second), 0, 10*second, 30*second)},
		{"1s/300s: restarts after 30s, up to 70s", "2", restarts(from(second, 300*second), 0, 30*second, 70*second)},
		{"1s/300s: excess restarts up to 310s", "3 to 7", excess(from(second, 300*second), 0, 310*second)},
		{"250ms/300s: excess restarts up to 310s", "3 to 7", excess(from(second/4, 300*second), 0, 310*second)},
		{"25ms/300s: excess restarts up to 310s", "3 to 7", excess(from(second/40, 300*second), 0, 310*second)},
		{"1s/30s: excess restarts up to 310s", "10", excess(from(second, 30*second), 0, 310*second)},
	}
}

// printClaims prints the claims of the text beside the library's numbers.
func printClaims(w io.Writer) {
	fmt.Fprintln(w, "Numbers in the text of KEP-4603, for containers that crash at once, and those of this library")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tKEP\there")
	for _, c := range kepClaims() {
		fmt.Fprintf(t, "%s\t%s\t%.0f\n", c.what, c.kep, math.Round(c.here))
	}
	t.Flush()
}
