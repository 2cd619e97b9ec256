package pleg_test

import (
	"fmt"
	"maps"
	"time"

	"github.com/restartkit/restart/pleg/next"
)

// A model is the contract of exits for one reader, as its documentation states it. It sees
// the runtime's answers and knows the truth, and nothing of the Generator.
type model struct {
	made    time.Time
	full    bool            // a full list was answered since the reader was made
	owed    map[string]bool // an answer has shown the container, or it was expected
	past    map[string]bool // it had ended before the reader was made
	perhaps map[string]bool // it may be past or not, because only its absence shows its end
	yielded map[string]bool
}

func newModel(made time.Time) *model {
	return &model{made: made, owed: map[string]bool{}, past: map[string]bool{}, perhaps: map[string]bool{}, yielded: map[string]bool{}}
}

// copy returns the model of a reader that continues from a position taken now.
func (m *model) copy() *model {
	return &model{m.made, m.full, maps.Clone(m.owed), maps.Clone(m.past), maps.Clone(m.perhaps), maps.Clone(m.yielded)}
}

// begin takes what the program's earlier answers have shown when the reader is made.
// A reader that includes the past owes the exits of the containers that are still there.
func (m *model) begin(known map[string]pleg.Container, gone func(string) bool, includePast bool) {
	for id, c := range known {
		switch {
		case gone(id):
			m.perhaps[id] = true
		case c.State == pleg.StateExited && !includePast:
			m.past[id] = true
		default:
			m.owed[id] = true
		}
	}
}

// answer takes the containers in an answer, a full list or a look.
func (m *model) answer(list bool, seen []pleg.Container) {
	for _, c := range seen {
		before := c.Exit == nil || c.Exit.Finished.IsZero() || c.Exit.Finished.Before(m.made)
		if list && !m.full && c.State == pleg.StateExited && before && !m.owed[c.ID] {
			m.past[c.ID] = true
		}
		if !m.past[c.ID] {
			m.owed[c.ID] = true
		}
	}
	m.full = m.full || list
}

// expect takes a container that was announced.
func (m *model) expect(id string) {
	if !m.past[id] {
		m.owed[id] = true
	}
}

// yield takes an exit that the reader yields. ended is the truth.
func (m *model) yield(id string, ended bool) error {
	again := m.yielded[id]
	m.yielded[id] = true
	switch {
	case again:
		return fmt.Errorf("the exit of %s is yielded twice", id)
	case !ended:
		return fmt.Errorf("the exit of %s is yielded before its end", id)
	case m.past[id], !m.owed[id] && !m.perhaps[id]:
		return fmt.Errorf("the exit of %s is yielded; past %v, owed %v", id, m.past[id], m.owed[id])
	}
	return nil
}

// missing returns the exits that the reader has failed to yield. ended is the truth.
func (m *model) missing(ended func(string) bool) (list []string) {
	for id := range m.owed {
		if ended(id) && !m.yielded[id] && !m.perhaps[id] {
			list = append(list, id)
		}
	}
	return list
}
