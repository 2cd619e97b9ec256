package jobworld

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/internal/search"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Unit is the unit in which time passes. Delays must be multiples of it.
const Unit = 10 * time.Second

// World is a Job with a controller. It is a [search.System].
type World struct {
	job     Job
	spec    batch.JobSpec // with defaults
	control func() Controller
	longest uint8 // greatest age of an end, in units
	ignored []string
	stops   []string
}

// New returns the world of a Job whose controller delays replacements by at most
// longest. Each goroutine of a search calls control once for a Controller of its own.
func New(job Job, control func() Controller, longest time.Duration) (*World, error) {
	if err := job.Validate(); err != nil {
		return nil, err
	}
	w := &World{job: job, spec: job.Spec(), control: control, longest: uint8((longest + Unit - 1) / Unit)}
	if w.longest > oldest {
		return nil, fmt.Errorf("jobworld: delays up to %v are too long: at most %v", longest, oldest*Unit)
	}
	return w, nil
}

// Ignore makes breaches of invariants whose texts contain one of these no errors, so that
// a search goes beyond them. A check that finds such a breach checks nothing else, and
// the API server refuses a status that it rejects.
func (w *World) Ignore(texts ...string) { w.ignored = append(w.ignored, texts...) }

// StopAt ends histories at breaches of invariants whose texts contain one of these. No
// error is reported for them, and a search goes on with the other histories.
func (w *World) StopAt(texts ...string) { w.stops = append(w.stops, texts...) }

func (w *World) unlessIgnored(err error) error {
	if names(w.ignored, err) {
		return nil
	}
	return err
}

// names reports whether one of the texts is a part of the error's.
func names(texts []string, err error) bool {
	return err != nil && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// Start returns the encoding of the state in which the Job exists and the controller
// sees it.
func (w *World) Start() []byte {
	s := w.start()
	return s.encode(nil)
}

func (w *World) start() state {
	s := state{left: w.job.Budget}
	s.now.failed = noIndexes
	s.seen = s.now
	return s
}

// Expander returns a search.Expander.
func (w *World) Expander() search.Expander { return w.newWalker() }

// walker finds and takes the steps of a world. One goroutine uses it.
type walker struct {
	*World
	control Controller
	views   views
	buffer  []byte
}

func (w *World) newWalker() *walker {
	return &walker{World: w, control: w.control(), views: newViews(w)}
}

// Expand calls visit for each step.
func (w *walker) Expand(text []byte, visit func(search.Step)) (end bool) {
	if len(text) == 0 { // a history stopped here
		return true
	}
	var s state
	s.decode(text)
	steps, pass, end := w.steps(&s)
	for i, step := range steps {
		next := s
		err := w.take(&next, step, &pass)
		w.buffer = w.buffer[:0]
		if names(w.stops, err) {
			err = nil
		} else {
			w.buffer = next.encode(w.buffer)
		}
		visit(search.Step{Next: w.buffer, Calm: i == 0, Broken: err})
	}
	return end
}
