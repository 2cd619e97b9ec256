package search

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// World is a system at one moment of one history. It can go on but not back, so it may
// consist of objects that cannot be copied.
type World interface {
	// Steps returns the number of possible next steps, at most 65535. Describe describes
	// one of them in a line that differs from those of the others, and Take takes it.
	Steps() int
	Describe(step int) string
	Take(step int)
	// State returns an encoding that is equal for two worlds only if nothing later can
	// tell them apart.
	State() []byte
	// Broken returns the first broken invariant so far, or nil.
	Broken() error
	// Settle lets the history end without further faults, which may break an invariant,
	// too. The world is not used afterwards, except for Broken.
	Settle()
}

// Histories is the System of all histories of a World. Each state is rebuilt from the
// beginning by its steps, and every new one is settled.
type Histories struct {
	begin func() World

	mu    sync.Mutex
	nodes []node
	place map[string]int32 // in nodes, by state
}

// node is a state by its last step.
type node struct {
	before int32
	step   uint16
}

// NewHistories returns the histories of the world that begin returns. All its results
// are in the same state.
func NewHistories(begin func() World) *Histories { return &Histories{begin: begin} }

// Start implements System.
func (h *Histories) Start() []byte {
	state := h.begin().State()
	h.nodes, h.place = []node{{before: -1}}, map[string]int32{string(state): 0}
	return state
}

// Expander implements System.
func (h *Histories) Expander() Expander { return h }

// Expand implements Expander. It is safe for concurrent use.
func (h *Histories) Expand(state []byte, visit func(Step)) (end bool) {
	before, path := h.path(state)
	w := h.replay(path)
	for i := range w.Steps() {
		if i > 0 {
			w = h.replay(path)
		}
		w.Take(i)
		next := w.State()
		if w.Broken() == nil && !h.known(next) {
			w.Settle()
			if w.Broken() == nil {
				h.add(next, node{before, uint16(i)})
			}
		}
		visit(Step{Next: next, Broken: w.Broken()})
	}
	return true
}

// path returns the place of a state and the steps to it.
func (h *Histories) path(state []byte) (place int32, path []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	place = h.place[string(state)]
	for n := place; n > 0; n = h.nodes[n].before {
		path = append(path, int(h.nodes[n].step))
	}
	slices.Reverse(path)
	return place, path
}

func (h *Histories) known(state []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.place[string(state)]
	return ok
}

func (h *Histories) add(state []byte, n node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.place[string(state)]; !known {
		h.place[string(state)] = int32(len(h.nodes))
		h.nodes = append(h.nodes, n)
	}
}

func (h *Histories) replay(path []int) World {
	w := h.begin()
	for _, i := range path {
		w.Take(i)
	}
	return w
}

// Tell returns the story of a Result as text, with a line for each step.
func (h *Histories) Tell(story []int) string {
	var b strings.Builder
	w := h.begin()
	for _, i := range story {
		fmt.Fprintln(&b, w.Describe(i))
		w.Take(i)
	}
	return b.String()
}

// Follow returns the world after the steps in the lines of a text by Tell, or an error
// that names the first impossible line.
func (h *Histories) Follow(text string) (World, error) {
	w := h.begin()
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		i := 0
		for i < w.Steps() && w.Describe(i) != line {
			i++
		}
		if i == w.Steps() {
			return nil, fmt.Errorf("search: Follow: line %d: %q is not possible", n, line)
		}
		w.Take(i)
	}
	return w, nil
}
