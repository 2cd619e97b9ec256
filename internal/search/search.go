// Package search visits every state that a system can reach, breadth first, and checks
// each of them. It finds a shortest history of steps to a state that breaks an
// invariant, and states from which a run without faults never ends.
//
// A state is a short canonical encoding. The search keeps the encodings of the current
// depth and of the next, and 64-bit fingerprints of all others. Two states with the
// same fingerprint are taken for one; among 10^7 states that happens with a probability
// of 3·10^-6.
package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// System is a system to explore.
type System interface {
	// Start returns the encoding of the initial state.
	Start() []byte
	// Expander returns a new Expander. Each goroutine of a search uses its own.
	Expander() Expander
}

// Expander finds the steps from a state. One goroutine uses it at a time.
type Expander interface {
	// Expand calls visit for each step from the state, in an order that depends on the
	// state only. It reports whether the state is an end, where a run may stop. visit
	// does not keep next.
	Expand(state []byte, visit func(Step)) (end bool)
}

// Step is a step of a system.
type Step struct {
	Next []byte // encoding of the next state
	// Calm marks the step that a run without faults takes. A state has at most one. From
	// every state the calm steps must lead to an end.
	Calm bool
	// Broken is the invariant broken by the step, nil for none. Its text should name
	// the invariant only; the story shows the rest.
	Broken error
}

// ErrEndless says that the calm steps from a state do not lead to an end.
var ErrEndless = errors.New("a run without further faults does not end")

// Options limit a search. The zero value is valid.
type Options struct {
	Workers int // goroutines; 0 means 1
	States  int // stop at the first depth with at least so many states; 0 means no limit
}

// Result is the outcome of a search.
type Result struct {
	States, Transitions int64
	Depth               int // steps to the farthest state
	Ends                int64
	Complete            bool // every reachable state was visited
	Time                time.Duration
	Broken              error // a broken invariant, nil for none
	// Story holds the ordinals of the steps, as Expand visits them, to the broken
	// invariant. After ErrEndless, Loop is the number of further calm steps that either
	// return to an earlier state or reach one without a calm step.
	Story []int
	Loop  int
}

// Run explores the system until every state is visited, an invariant is broken, a limit
// is reached or the context ends. Its result does not depend on the number of workers.
func Run(ctx context.Context, s System, o Options) Result {
	began := time.Now()
	r := &run{system: s, set: newSet()}
	for range max(o.Workers, 1) {
		r.workers = append(r.workers, &worker{run: r, expander: s.Expander()})
	}
	start := s.Start()
	root := fingerprint(start)
	r.set.add(entry{print: root})
	level := packed{}
	level.add(start)
	for level.len() > 0 && r.broken.err == nil && ctx.Err() == nil && (o.States == 0 || r.set.len() < o.States) {
		level = r.expand(ctx, level)
	}
	r.result.States = int64(r.set.len())
	for _, w := range r.workers {
		r.result.Transitions += w.transitions
		r.result.Ends += w.ends
	}
	r.result.Complete = level.len() == 0 && r.broken.err == nil && ctx.Err() == nil
	if r.broken.err == nil {
		r.findEndless()
	}
	if r.broken.err != nil {
		r.result.Broken = r.broken.err
		r.result.Story = append(r.set.path(root, r.broken.state), r.broken.ordinals...)
	}
	r.result.Time = time.Since(began)
	return r.result
}

type run struct {
	system  System
	set     *set
	workers []*worker
	depth   int
	result  Result

	mu     sync.Mutex
	broken breach
}

// breach is a broken invariant, reached from a state by further steps.
type breach struct {
	err      error
	state    uint64
	ordinals []int
}

// worker expands a part of a level.
type worker struct {
	*run
	expander          Expander
	next              packed
	transitions, ends int64
}

// part is the number of states that a worker takes at a time.
const part = 256

// expand visits the steps from every state of a level, which holds the states of one
// depth. It returns the next level, which holds the states not visited before.
func (r *run) expand(ctx context.Context, level packed) (next packed) {
	r.depth++
	var wait sync.WaitGroup
	parts := make(chan int)
	for _, w := range r.workers {
		w.next = packed{}
		wait.Go(func() {
			for first := range parts {
				for i := first; i < min(first+part, level.len()); i++ {
					w.expand(level.at(i))
				}
			}
		})
	}
	for first := 0; first < level.len() && ctx.Err() == nil; first += part {
		parts <- first
	}
	close(parts)
	wait.Wait()
	for _, w := range r.workers {
		next.append(w.next)
	}
	if next.len() > 0 {
		r.result.Depth = r.depth
	}
	return next
}

func (w *worker) expand(state []byte) {
	parent := fingerprint(state)
	ordinal := -1
	var calm uint64
	end := w.expander.Expand(state, func(step Step) {
		ordinal++
		w.transitions++
		if step.Broken != nil {
			w.fail(breach{step.Broken, parent, []int{ordinal}})
			return
		}
		e := entry{print: fingerprint(step.Next), parent: parent, ordinal: uint16(ordinal), depth: uint16(w.depth)}
		if w.set.add(e) {
			w.next.add(step.Next)
		}
		if step.Calm {
			calm = e.print
		}
	})
	if ordinal > 1<<16-1 {
		panic(fmt.Sprintf("search: a state has %d steps", ordinal+1))
	}
	if end {
		w.ends++
	}
	w.set.expanded(parent, calm, end)
}

// fail records a breach. Of several at the same depth it keeps the one with the least
// text, then state.
func (r *run) fail(b breach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.broken
	if old.err != nil && (old.err.Error() < b.err.Error() ||
		old.err.Error() == b.err.Error() && (old.state < b.state || old.state == b.state && old.ordinals[0] < b.ordinals[0])) {
		return
	}
	r.broken = b
}

// findEndless looks for the state nearest to the start whose calm steps lead to no end.
func (r *run) findEndless() {
	e, loop, found := r.set.endless()
	if found {
		r.broken = breach{err: ErrEndless, state: e.print}
		r.result.Loop = loop
	}
}

// packed is a list of encodings.
type packed struct {
	text []byte
	ends []int
}

func (p *packed) len() int { return len(p.ends) }

func (p *packed) add(state []byte) {
	p.text = append(p.text, state...)
	p.ends = append(p.ends, len(p.text))
}

func (p *packed) at(i int) []byte {
	first := 0
	if i > 0 {
		first = p.ends[i-1]
	}
	return p.text[first:p.ends[i]]
}

func (p *packed) append(q packed) {
	if p.len() == 0 {
		*p = q
		return
	}
	shift := len(p.text)
	p.text = append(p.text, q.text...)
	for _, end := range q.ends {
		p.ends = append(p.ends, shift+end)
	}
}
