package pleg

import (
	"fmt"
	"maps"
	"time"
)

// A Model is the contract of exits for one reader, as its documentation states it. It sees
// the runtime's answers and knows the truth, and nothing of the Generator.
type Model struct {
	made    time.Time
	Full    bool            // a full list was answered since the reader was made
	owed    map[string]bool // an answer has shown the container, or it was expected
	past    map[string]bool // it had ended before the reader was made
	perhaps map[string]bool // it may be past or not
	listed  map[string]bool // it is past according to a list, and no inspection has confirmed it
	yielded map[string]bool
}

func NewModel(made time.Time) *Model {
	return &Model{
		made: made, owed: map[string]bool{}, past: map[string]bool{}, perhaps: map[string]bool{},
		listed: map[string]bool{}, yielded: map[string]bool{},
	}
}

// Copy returns the model of a reader that continues from a position taken now. It judges
// anew the ends that only a list without times has judged.
func (m *Model) Copy() *Model {
	n := &Model{
		made: m.made, Full: m.Full, owed: maps.Clone(m.owed), past: maps.Clone(m.past), perhaps: maps.Clone(m.perhaps),
		listed: map[string]bool{}, yielded: maps.Clone(m.yielded),
	}
	for id := range m.listed {
		delete(n.past, id)
		n.perhaps[id] = true
	}
	return n
}

// Begin takes the facts in earlier answers when the reader is made.
// A reader that includes the past owes the exits of the containers that are still there.
func (m *Model) Begin(known map[string]Container, gone func(string) bool, includePast bool) {
	for id, c := range known {
		switch {
		case gone(id):
			m.perhaps[id] = true
		case c.State == StateExited && !includePast:
			m.past[id] = true
		default:
			m.owed[id] = true
		}
	}
}

// Answer takes the containers in an answer, a full list or an inspection.
func (m *Model) Answer(list bool, seen []Container) {
	for _, c := range seen {
		before := c.Exit == nil || c.Exit.Finished.IsZero() || c.Exit.Finished.Before(m.made)
		if list && !m.Full && c.State == StateExited && before && !m.owed[c.ID] {
			m.past[c.ID], m.listed[c.ID] = true, true
		}
		if !list && m.listed[c.ID] {
			delete(m.listed, c.ID)
			if !before { // the list did not show the time
				delete(m.past, c.ID)
			}
		}
		if !m.past[c.ID] {
			m.owed[c.ID] = true
		}
	}
	m.Full = m.Full || list
}

// Expect takes a container that was announced.
func (m *Model) Expect(id string) {
	if !m.past[id] {
		m.owed[id] = true
	}
}

// Yield takes an exit that the reader yields. ended is the truth.
func (m *Model) Yield(id string, ended bool) error {
	again := m.yielded[id]
	m.yielded[id] = true
	switch {
	case again:
		return fmt.Errorf("the exit of %s is yielded twice", id)
	case !ended:
		return fmt.Errorf("the exit of %s is yielded before its end", id)
	case m.past[id] && !m.listed[id], !m.past[id] && !m.owed[id] && !m.perhaps[id]:
		return fmt.Errorf("the exit of %s is yielded; past %v, owed %v", id, m.past[id], m.owed[id])
	}
	return nil
}

// Missing returns the exits that the reader has failed to yield. ended is the truth.
func (m *Model) Missing(ended func(string) bool) (list []string) {
	for id := range m.owed {
		if ended(id) && !m.yielded[id] && !m.perhaps[id] {
			list = append(list, id)
		}
	}
	return list
}
