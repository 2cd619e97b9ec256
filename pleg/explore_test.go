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

	"github.com/restartkit/restart/internal/search"
)

// An exploration is a small world of one pod of which every history is tried.
type exploration struct {
	name   string
	stream bool
	pods   podView // the last phase that each container may reach
	slow   bool    // readers take at any moment; otherwise at once
	behind int     // events of another container that are pending at the beginning
	lazy   bool    // several events may arrive before the Generator's turn
	ticks  int     // seconds that pass before the runtime becomes quiet
	faults int     // of these kinds
	kinds  string  // of faults
	plant  bool    // the fault of an earlier version is planted
}

// The kinds of faults and interruptions.
const (
	faultError   = 'E' // a call fails
	faultLose    = 'L' // an event is lost
	faultRepeat  = 'R' // an event arrives and stays under way
	faultDelay   = 'D' // an event is overtaken
	faultAhead   = 'A' // an event overtakes the change, which answers show later
	faultBreak   = 'B' // the stream ends
	faultEmpty   = 'M' // a full list lacks the pod
	faultRun     = 'S' // Run ends and another begins
	faultProgram = 'P' // the program starts again, and its reader of exits resumes
	faultReader  = 'N' // a new reader of exits replaces the reader
	faultClose   = 'C' // the reader of exits is closed, and another resumes from its position later
	faultExpect  = 'X' // the reader expects a container that was just created
	faultWait    = 'W' // a wait begins
	faultSync    = 'Y' // RequestSync
	faultVanish  = 'V' // a container is removed while it runs
)

// explorations are the worlds. The first ones have few faults of any kind, so that all
// of their histories can be tried.
var explorations = func() (list []exploration) {
	one, two := podView{inRemoved}, podView{inRemoved, inRemoved}
	for _, pods := range []podView{one, two} {
		for _, stream := range []bool{false, true} {
			name := "lists"
			if stream {
				name = "events"
			}
			if pods == two {
				name += ", two containers"
			}
			list = append(list, exploration{name: name, stream: stream, pods: pods, ticks: 1, faults: 1, kinds: "ELRDABMSPNCXWYV"})
		}
	}
	return append(list,
		exploration{name: "events together", stream: true, pods: two, lazy: true, ticks: 1, faults: 1, kinds: "LRD"},
		exploration{name: "slow readers", stream: true, pods: two, slow: true, behind: slotEvents - 1, ticks: 1, faults: 1, kinds: "EYV"},
		exploration{name: "lost events", stream: true, pods: two, ticks: 2, faults: 2, kinds: "LRDB"},
		exploration{name: "events ahead", stream: true, pods: one, ticks: 2, faults: 3, kinds: "ALMV"},
		exploration{name: "failures", stream: true, pods: one, ticks: 2, faults: 3, kinds: "EBW"},
		exploration{name: "empty lists", pods: one, ticks: 2, faults: 3, kinds: "MPXV"},
		exploration{name: "restarts", stream: true, pods: two, ticks: 1, faults: 2, kinds: "SPE"},
		exploration{name: "readers", stream: true, pods: one, ticks: 2, faults: 3, kinds: "NCPX"},
	)
}()

// histories returns all histories of the world.
func (x exploration) histories() *search.Histories {
	return search.NewHistories(func() search.World { return newPodWorld(x) })
}

var mostStates = flag.Int("pleg.states", 250, "the number of states after which an exploration stops; 0: none")

// Every history of a small world keeps to the promises. The default is the shortest
// ones; -pleg.states=1000000 makes all of many worlds.
func TestExplorations(t *testing.T) {
	var table strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "states\ttransitions\tdepth\tall\t  world")
	for _, x := range explorations {
		t.Run(x.name, func(t *testing.T) {
			h := x.histories()
			r := search.Run(t.Context(), h, search.Options{Workers: runtime.GOMAXPROCS(0), States: *mostStates})
			fmt.Fprintf(tab, "%d\t%d\t%d\t%v\t  %s\n", r.States, r.Transitions, r.Depth, r.Complete, x.name)
			if r.Broken != nil {
				t.Errorf("%v, after %d steps:\nworld: %s\n%s", r.Broken, len(r.Story), x.name, h.Tell(r.Story))
			}
		})
	}
	tab.Flush()
	t.Logf("\n%s", &table)
}

// The lost exits of an earlier version, planted, are found.
func TestExplorationFindsLostExits(t *testing.T) {
	x := exploration{stream: true, pods: podView{inRemoved}, ticks: 1, faults: 2, kinds: "PV", plant: true}
	h := x.histories()
	r := search.Run(t.Context(), h, search.Options{Workers: runtime.GOMAXPROCS(0)})
	if r.Broken == nil || !strings.Contains(r.Broken.Error(), "missing") {
		t.Fatalf("%+v: the planted fault is not found", r)
	}
	t.Logf("%v\n%s", r.Broken, h.Tell(r.Story))
}

// The stories under testdata/explored keep to the promises. A file holds a story as
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
