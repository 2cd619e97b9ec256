package pleg

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/restartkit/restart/conformance/explore/search"
)

const allFaults = "ELRDBCSPWYV"

// explorations are the worlds. The first ones have one container and few faults, so
// that all of their histories can be tried.
var explorations = func() (list []exploration) {
	one, two := podView{inRemoved}, podView{inRemoved, inRemoved}
	for _, pods := range []podView{one, two} {
		for _, look := range []string{"", "pod", "status"} {
			for _, stream := range []bool{false, true} {
				name := []string{"lists", "lists and single pods", "lists and statuses"}[strings.Index(" ps", (look + " ")[:1])]
				if stream {
					name += ", stream"
				}
				if pods == two {
					name += ", two containers"
				}
				list = append(list, exploration{name: name, stream: stream, look: look, pods: pods, ticks: 1, faults: 1, kinds: allFaults})
			}
		}
	}
	return append(list,
		exploration{name: "events arrive together", stream: true, look: "status", pods: two, lazy: true, faults: 1, ticks: 1, kinds: "LRD"},
		exploration{name: "slow readers", stream: true, look: "status", pods: two, slow: true, faults: 1, ticks: 1, kinds: "EYV"},
		exploration{name: "lost events", stream: true, look: "status", pods: two, faults: 2, ticks: 2, kinds: "LRDB"},
		exploration{name: "failures", stream: true, look: "status", pods: one, faults: 3, ticks: 2, kinds: "EBW"},
		exploration{name: "wrong clocks", stream: true, look: "status", pods: one, faults: 2, ticks: 2, kinds: "CLR"},
		exploration{name: "restarts", stream: true, look: "status", pods: two, faults: 2, ticks: 1, kinds: "SPE"},
	)
}()

// histories returns all histories of the world.
func (x exploration) histories() *search.Histories {
	return search.NewHistories(func() search.World { return newPodWorld(x) })
}

var mostStates = flag.Int("pleg.states", 1000, "the number of states after which an exploration stops; 0: none")

// Every history of a small world keeps to the guarantees. The default is the shortest
// ones; -pleg.states=1000000 makes all of many worlds.
func TestExplorations(t *testing.T) {
	var table strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "states\ttransitions\tdepth\ttime\tall\t  world")
	for _, x := range explorations {
		t.Run(x.name, func(t *testing.T) {
			h := x.histories()
			r := search.Run(t.Context(), h, search.Options{Workers: runtime.GOMAXPROCS(0), States: *mostStates})
			fmt.Fprintf(tab, "%d\t%d\t%d\t%v\t%v\t  %s\n", r.States, r.Transitions, r.Depth, r.Time.Round(time.Millisecond), r.Complete, x.name)
			if r.Broken != nil {
				t.Errorf("%v, after %d steps:\n%s", r.Broken, len(r.Story), h.Tell(r.Story))
			}
		})
	}
	tab.Flush()
	t.Logf("\n%s", &table)
}
