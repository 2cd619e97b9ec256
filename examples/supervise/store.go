package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/examples/internal/statefolder"
)

// store is the folder of -state. It is written whole, so that whoever is killed
// at any moment leaves the old state or the new one: an exit that was not written
// yet is forgotten, and its command run again.
type store struct {
	folder *statefolder.Folder
	saved  []byte
	bad    bool // the last write has failed
}

// state is everything that survives this program.
type state struct {
	Version  int                     `json:"version"`
	Run      string                  `json:"run"` // names the processes of the run that wrote it
	Commands map[string]commandState `json:"commands"`
}

const stateVersion = 1

type commandState struct {
	Definition string                  `json:"definition"` // of what was run
	Run        int64                   `json:"run"`
	Starts     int64                   `json:"starts"`
	Backoff    *backoff.RestarterState `json:"backoff,omitempty"` // absent: it has not exited yet
}

const stateFile = "supervise.json"

// openStore makes sure that nobody else uses the folder.
func openStore(dir string) (*store, error) {
	folder, err := statefolder.Open(dir, "supervise")
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	return &store{folder: folder}, nil
}

// read returns the state, or an empty one if there is none yet.
func (s *store) read() (state, error) {
	var st state
	text, err := s.folder.Read(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err == nil {
		err = st.valid()
	}
	if err != nil {
		return st, s.unusable(err)
	}
	return st, nil
}

// most is above all counts of a state.
const most = 1 << 53

// valid reports what no run can have written, with its field.
func (st *state) valid() error {
	switch {
	case st.Version != stateVersion:
		return fmt.Errorf("version is %d, must be %d", st.Version, stateVersion)
	case st.Run != "" && !process.ValidRun(st.Run):
		return fmt.Errorf("run is %q, which names no run", st.Run)
	}
	for _, name := range slices.Sorted(maps.Keys(st.Commands)) {
		c := st.Commands[name]
		at := "commands." + name
		switch {
		case !validName(name):
			return fmt.Errorf("commands has %q, which is not the name of a command", name)
		case c.Run < 0 || c.Starts < 0:
			return fmt.Errorf("%s: run is %d, starts is %d, must not be below 0", at, c.Run, c.Starts)
		case c.Run > most:
			return fmt.Errorf("%s.run is %d, must not be above %d", at, c.Run, int64(most))
		case c.Starts > c.Run:
			return fmt.Errorf("%s.starts is %d, must not be above run, %d", at, c.Starts, c.Run)
		case c.Backoff == nil:
		case c.Backoff.Last.Run < 0 || c.Backoff.Last.Run > c.Run:
			return fmt.Errorf("%s.backoff.last.run is %d, must be in [0, run], [0, %d]", at, c.Backoff.Last.Run, c.Run)
		case int64(c.Backoff.Decision.Failures) > c.Run:
			return fmt.Errorf("%s.backoff.decision.failures is %d, must not be above run, %d", at, c.Backoff.Decision.Failures, c.Run)
		}
	}
	return nil
}

func (s *store) unusable(err error) error {
	return fmt.Errorf("-state: %s: %w; remove it to begin anew", s.folder.Path(stateFile), err)
}

// write replaces the state, unless it is the same.
func (s *store) write(st state) error {
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil || bytes.Equal(text, s.saved) {
		return err
	}
	if err := s.folder.Replace(stateFile, append(text, '\n')); err != nil {
		return err
	}
	s.saved = text
	return nil
}

// definition names what a command runs: another program is another container, whose
// failures start over.
func (c *command) definition() string {
	text, _ := json.Marshal([]any{c.args, c.env, c.dir})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// save writes the state, and says once that it cannot.
func (s *supervisor) save() {
	if s.store == nil {
		return
	}
	st := state{Version: stateVersion, Run: s.children.Run(), Commands: make(map[string]commandState)}
	for _, t := range s.tasks {
		c := commandState{Definition: t.definition(), Run: t.run, Starts: t.starts}
		if b, ok := s.restarter.State(t.name); ok {
			c.Backoff = &b
		}
		st.Commands[t.name] = c
	}
	err := s.store.write(st)
	if err != nil && !s.store.bad {
		s.screen.note("warning: -state: %v", err)
	}
	s.store.bad = err != nil
}

// resume takes up the state that another run has left, after what is left of its
// processes has been killed.
func (s *supervisor) resume(tell func(string, ...any)) error {
	st, err := s.store.read()
	if err != nil {
		return err
	}
	if st.Run != "" {
		if err := process.KillRun(st.Run); err != nil {
			return err
		}
	}
	now := time.Now()
	for _, t := range s.tasks {
		c, ok := st.Commands[t.name]
		if !ok {
			continue
		}
		if c.Definition != t.definition() {
			tell("note: %s: begins anew, for it runs %s now", t.name, oneLine(t.args))
			continue
		}
		t.run, t.starts = c.Run, c.Starts
		if c.Backoff == nil {
			continue
		}
		if err := s.restarter.Restore(t.name, toClock(*c.Backoff, now)); err != nil {
			return s.store.unusable(inState(t.name, err))
		}
		b, _ := s.restarter.State(t.name)
		t.decision, t.code = b.Decision, b.Last.Code
		tell("note: %s: %s", t.name, t.resumed(s.restarter.Remaining(t.name)))
	}
	return nil
}

// inState returns why a command's backoff is refused, with the paths of the fields.
func inState(name string, err error) error {
	var errs backoff.FieldErrors
	if !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		errs[i].Field = "commands." + name + ".backoff." + errs[i].Field
	}
	return errs
}

// resumed says how a task goes on.
func (t *task) resumed(remaining time.Duration) string {
	switch {
	case t.over():
		return "has ended; remove the state to begin anew"
	case remaining > 0:
		return fmt.Sprintf("goes on after %d failures in a row, in %s", t.decision.Failures, rough(remaining))
	}
	return fmt.Sprintf("goes on after %d failures in a row", t.decision.Failures)
}

// toClock holds the times of a state to the clock, which may have been set back since.
func toClock(b backoff.RestarterState, now time.Time) backoff.RestarterState {
	before := func(at, limit time.Time) time.Time {
		if at.After(limit) {
			return limit
		}
		return at
	}
	b.Last.Started, b.Last.Finished = before(b.Last.Started, now), before(b.Last.Finished, now)
	b.Decision.NotBefore = before(b.Decision.NotBefore, now.Add(max(b.Decision.Delay, 0)))
	for i, at := range b.Recent {
		b.Recent[i] = before(at, now)
	}
	return b
}
