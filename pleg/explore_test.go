package pleg

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/restartkit/restart/internal/search"
)

// explorations are the worlds. The first ones have few faults of any kind, so that all
// of their histories can be tried.
var explorations = func() (list []exploration) {
	one, two := podView{inRemoved}, podView{inRemoved, inRemoved}
	for _, pods := range []podView{one, two} {
		for _, look := range []string{"lists", "pods", "statuses"} {
			for _, stream := range []bool{false, true} {
				name := look
				if stream {
					name += " and events"
				}
				if pods == two {
					name += ", two containers"
				}
				list = append(list, exploration{name: name, stream: stream, look: look, pods: pods, ticks: 1, faults: 1, kinds: "ELRDBCSPWYV"})
			}
		}
	}
	return append(list,
		exploration{name: "events together", stream: true, look: "statuses", pods: two, lazy: true, ticks: 1, faults: 1, kinds: "LRD"},
		exploration{name: "slow readers", stream: true, look: "statuses", pods: two, slow: true, behind: slotEvents - 1, ticks: 1, faults: 1, kinds: "EYV"},
		exploration{name: "lost events", stream: true, look: "statuses", pods: two, ticks: 2, faults: 2, kinds: "LRDB"},
		exploration{name: "failures", stream: true, look: "statuses", pods: one, ticks: 2, faults: 3, kinds: "EBW"},
		exploration{name: "wrong clocks", stream: true, look: "statuses", pods: one, ticks: 2, faults: 2, kinds: "CLR"},
		exploration{name: "restarts", stream: true, look: "statuses", pods: two, ticks: 1, faults: 2, kinds: "SPE"},
	)
}()

// histories returns all histories of the world.
func (x exploration) histories() *search.Histories {
	return search.NewHistories(func() search.World { return newPodWorld(x) })
}

var mostStates = flag.Int("pleg.states", 500, "the number of states after which an exploration stops; 0: none")

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
				t.Errorf("%v, after %d steps:\nworld: %s\n%s", r.Broken, len(r.Story), x.name, h.Tell(r.Story))
			}
		})
	}
	tab.Flush()
	t.Logf("\n%s", &table)
}

// The stories under testdata/explored keep to the guarantees. A file holds a story as
// TestExplorations prints it.
func TestExploredStories(t *testing.T) {
	files, err := filepath.Glob("testdata/explored/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, steps, _ := strings.Cut(string(text), "\n")
			i := slices.IndexFunc(explorations, func(x exploration) bool { return "world: "+x.name == name })
			if i < 0 {
				t.Fatalf("%q names no world", name)
			}
			w, err := explorations[i].histories().Follow(steps)
			if err != nil {
				t.Fatal(err)
			}
			if w.Broken() == nil {
				w.Settle()
			}
			if w.Broken() != nil {
				t.Error(w.Broken())
			}
		})
	}
}
