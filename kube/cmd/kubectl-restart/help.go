package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

const aboutHelp = `kubectl restart explains restarts: why containers and Jobs wait, when they start,
and what ends them. It only reads, and needs the rights of a viewer.

Usage:
  kubectl restart VERB [ARGUMENTS] [FLAGS]

Verbs:
`

const afterHelp = `
Examples:
  kubectl restart next -A -w              what waits in the cluster, soonest first
  kubectl restart explain pod/web-0       why it restarts, and when it starts next
  kubectl restart explain job nightly     what ends it, and how far that is
  kubectl restart explain pods -l app=web all pods with a label
  kubectl restart compare web-0           its restarts on the curves of other systems
  kubectl restart lint -A                 mistakes in restart rules and Jobs

Exit codes:
  0  done
  1  lint found something, or an object does not exist
  2  wrong arguments
  3  the cluster does not answer, or refuses

Times are local. "kubectl restart VERB -h" describes a verb.
`

const explainHelp = `TYPE is pod or job; without names, all of the namespace are explained.

For each container: its state, the exits that the cluster still has, the restart
policy or rule that decided about the last one, and when it starts next. The start is
a range: the kubelet names the delay in the pod's status, and looks at the pod up to
half of the delay or of its syncFrequency later. Pass --sync-frequency if the kubelets'
differs from the default. For a Job: its limits and how far they are, its failed pods
with the rule that decided about each, the delays of its next pods, likely mistakes,
and the fields that an older cluster lacks.

The cluster keeps only the last one or two exits of a container. Earlier ones are
unknown, and so are failed pods that were deleted.
`

const nextHelp = `Starts that are unknown, such as those of image pulls, come last.

With -w the table is redrawn each second. If the output is not a terminal, each change
is a line instead; with -o json, a JSON object in a line.
`

const compareHelp = `The time since the pod's start is replayed on the kubelet's default curve, its
reduced curve (feature gate ReduceDefaultCrashLoopBackOffDecay), Docker's and systemd's.
Every run is taken to last the mean of those whose length the cluster still has.
"Down" is the time without a running container.
`

const lintHelp = `Reviews the pod failure policies and limits of Jobs and CronJobs, and the restart
rules of containers in these, Deployments, StatefulSets, DaemonSets, ReplicaSets and
pods. Objects that belong to another are reported with their owner. Each finding names
the line to change. The exit code is 1 if there are any.
`

const versionHelp = ""

// writeHelp prints the help of a verb, or of all for nil.
func writeHelp(w io.Writer, v *verb) {
	if v == nil {
		io.WriteString(w, aboutHelp)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, v := range verbs() {
			fmt.Fprintf(t, "  %s\t%s\n", v.name, v.about)
		}
		t.Flush()
		io.WriteString(w, afterHelp)
		return
	}
	fmt.Fprintf(w, "kubectl restart %s: %s\n\nUsage:\n  kubectl restart %s [FLAGS]\n", v.name, v.about, strings.TrimSpace(v.name+" "+v.args))
	if v.help != "" {
		fmt.Fprintf(w, "\n%s", v.help)
	}
	fmt.Fprintf(w, "\nFlags:\n%s", flagHelp(append(slices.Clone(v.flags), commonFlags...)))
}

// flagHelp returns the usage of some flags.
func flagHelp(names []string) string {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	newOptions().flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
			some.AddFlag(f)
		}
	})
	return some.FlagUsages()
}
