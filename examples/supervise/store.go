package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/examples/internal/statefolder"
)

// store is the folder of -state. It is written whole, so that whoever is killed
// at any moment leaves the old state or the new one: an exit that was not written
// yet is forgotten, and its command run again.
type store struct {
	dir   string
	lock  *os.File // held until this program ends
	saved []byte
	bad   bool // the last write has failed
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

// openStore makes sure that nobody else uses the folder.
func openStore(dir string) (*store, error) {
	lock, err := statefolder.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	return &store{dir: dir, lock: lock}, nil
}

func (s *store) file() string { return filepath.Join(s.dir, "supervise.json") }

// read returns the state, or an empty one if there is none yet.
func (s *store) read() (state, error) {
	var st state
	text, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err == nil && st.Version != stateVersion {
		err = fmt.Errorf("version is %d, must be %d", st.Version, stateVersion)
	}
	for name, c := range st.Commands {
		if err == nil && (c.Run < 0 || c.Starts < 0) {
			err = fmt.Errorf("commands.%s: run is %d, starts is %d, must not be below 0", name, c.Run, c.Starts)
		}
	}
	if err != nil {
		return st, s.unusable(err)
	}
	return st, nil
}

func (s *store) unusable(err error) error {
	return fmt.Errorf("-state: %s: %w; remove it to begin anew", s.file(), err)
}

// write replaces the state, unless it is the same.
func (s *store) write(st state) error {
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil || bytes.Equal(text, s.saved) {
		return err
	}
	temporary := s.file() + ".new"
	f, err := os.Create(temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, s.file()); err != nil {
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
		process.KillRun(st.Run)
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
			return s.store.unusable(errors.New(strings.TrimPrefix(err.Error(), "backoff: Restarter.Restore(): ")))
		}
		b, _ := s.restarter.State(t.name)
		t.decision, t.code = b.Decision, b.Last.Code
		tell("note: %s: %s", t.name, t.resumed(s.restarter.Remaining(t.name)))
	}
	return nil
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
