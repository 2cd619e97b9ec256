package main

import (
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// kepFigures returns the graphs of KEP-4603 that show restarts under a curve, in
// the order of its text. Where the KEP does not say otherwise, containers crash
// as soon as they start.
func kepFigures(pods, requests int) []figure {
	today, reduced := backoff.CrashLoop(), backoff.ReducedCrashLoop()
	line := func(name string, p backoff.Policy, run time.Duration) curve {
		c := curve{name: name, policy: p, groups: []group{{pods: pods, run: run}}}
		switch name {
		case "today", "10s to 5m", "crashes at once":
			c.system = "kubelet"
		case "new default", "1s to 1m":
			c.system = "kubelet-reduced"
		}
		return c
	}
	from := func(initial, longest time.Duration) backoff.Policy {
		return backoff.Policy{Initial: initial, Max: longest, ResetAfter: today.ResetAfter}
	}
	// The first restarts of today, by which the text compares.
	first := []time.Duration{10 * second, 30 * second, 70 * second, 150 * second, 310 * second}
	// The node that the text calculates for.
	node := []time.Duration{30 * second, 150 * second, 5 * minute, 10 * minute, 15 * minute}

	figures := []figure{{
		name:   "summary",
		title:  "Today, the new default and the shortest maximum",
		curves: []curve{line("today", today, 0), line("new default", reduced, 0), line("1s maximum", today.WithMax(second), 0)},
		end:    15 * minute, windows: node, logCount: true, api: true,
	}, {
		name:   "default",
		title:  "Today and the new default",
		curves: []curve{line("today", today, 0), line("new default", reduced, 0)},
		end:    10 * minute, windows: node,
	}, {
		name:   "node",
		title:  "Today and the shortest maximum of a node",
		curves: []curve{line("today", today, 0), line("1s maximum", today.WithMax(second), 0)},
		end:    10 * minute, windows: node, logCount: true,
	}, {
		name:   "decay",
		title:  "Today, by how long the container runs",
		curves: []curve{line("crashes at once", today, 0), line("runs 10s", today, 10*second), line("runs 9m59s", today, 10*minute-second)},
		end:    30 * minute, windows: []time.Duration{5 * minute, 10 * minute, 20 * minute, 30 * minute},
	}, {
		name:  "initial",
		title: "Initial delays of 10s, 1s, 250ms and 25ms",
		curves: []curve{line("10s to 5m", today, 0), line("1s to 5m", from(second, 300*second), 0),
			line("250ms to 5m", from(second/4, 300*second), 0), line("25ms to 5m", from(second/40, 300*second), 0)},
		end: 15 * minute, windows: first, logTime: true,
	}, {
		name:  "maximum",
		title: "Two initial delays, two maximums",
		curves: []curve{line("10s to 5m", today, 0), line("10s to 1m", from(10*second, 60*second), 0), line("10s to 30s", from(10*second, 30*second), 0),
			line("1s to 1m", from(second, 60*second), 0), line("1s to 30s", from(second, 30*second), 0)},
		end: 10 * minute, windows: first,
	}, {
		name:   "rapid",
		title:  "Alternative: restartPolicy Rapid, runs of 10s",
		curves: []curve{line("today", today, 10*second), line("rapid", from(second/4, 60*second), 10*second)},
		end:    30 * minute, windows: []time.Duration{minute, 5 * minute, 10 * minute, 30 * minute},
	}, {
		name:   "success",
		title:  "Alternative: 5s after a success, runs of 10s",
		curves: []curve{line("today", today, 10*second), line("flat 5s", from(5*second, 5*second), 10*second)},
		end:    30 * minute, windows: []time.Duration{minute, 5 * minute, 10 * minute, 30 * minute},
	}, {
		name:   "crossing",
		title:  "Alternative: success at 5s against rapid failures",
		curves: []curve{line("flat 5s", from(5*second, 5*second), 0), line("rapid", from(second/4, 60*second), 0)},
		end:    90 * second, windows: []time.Duration{10 * second, 30 * second, minute, 90 * second},
	}}
	for i := range figures {
		figures[i].pods, figures[i].requests = pods, requests
	}
	return figures
}

func figureNames() string {
	var names []string
	for _, f := range kepFigures(1, 1) {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
