package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// store is the folder of -state. A nil store keeps nothing.
//
// The folder has three files. stateFile holds a state at most syncEvery old and is
// synced to disk, stepsFile holds every later state, and endsFile holds the exits of
// processes, written by the guard. If this program is killed, the last step is kept. If
// the machine fails, the last second may be lost and its decisions are made again. Any
// prefixes of the files are consistent, because an exit without a pod in the state is
// dropped and a pod without its exit runs again.
type store struct {
	folder *statefolder.Folder
	steps  *statefolder.Log
	synced time.Time // when stateFile was written
	step   int64
}

const (
	stateFile = "state.json"
	stepsFile = "steps.log"
	endsFile  = "ends.log"
)

// The time and the bytes after which the steps are merged into the state.
const (
	syncEvery    = time.Second
	largestSteps = 8 << 20
)

// openStore creates the folder if it does not exist, and locks it.
func openStore(dir string) (*store, error) {
	folder, err := statefolder.Open(dir, "runjob", stateFile)
	if err != nil {
		return nil, err
	}
	return &store{folder: folder}, nil
}

// load returns the state of the last run, or nil if the folder has none.
func (s *store) load() (*state, error) {
	text, err := s.folder.Read(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := s.parse(stateFile, text)
	if err != nil {
		return nil, err
	}
	steps, err := s.folder.ReadLog(stepsFile)
	if err != nil || len(steps) == 0 {
		return old, err
	}
	last, err := s.parse(stepsFile, steps[len(steps)-1])
	if err != nil {
		return nil, err
	}
	if last.Run == old.Run && last.Step > old.Step { // else the steps are those of the run before
		return last, nil
	}
	return old, nil
}

func (s *store) parse(name string, text []byte) (*state, error) {
	var st state
	err := statefolder.Decode(text, stateVersion, &st)
	if err == nil {
		err = st.valid()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove the folder to start over", s.folder.Path(name), err)
	}
	return &st, nil
}

// histories returns the recorded history of every pod, by UID.
func (s *store) histories() (map[string]history, error) {
	if s == nil {
		return nil, nil
	}
	records, err := process.ReadJournal(s.folder, endsFile)
	return histories(records), err
}

// begin keeps the exits that the pods still need and begins the steps of a new run. It
// must be called before any process starts.
func (s *store) begin(pods map[string]*pod) (err error) {
	if s == nil {
		return nil
	}
	var kept []process.Record
	for uid, p := range pods {
		kept = append(kept, p.run.past.records(uid)...)
	}
	if err := process.WriteJournal(s.folder, endsFile, kept); err != nil {
		return err
	}
	s.steps, err = s.folder.OpenLog(stepsFile)
	return err
}

// save appends a state to the steps. With sync, or when syncEvery or largestSteps is
// reached, it replaces the saved state instead.
func (s *store) save(new *state, sync bool) error {
	s.step++
	new.Step = s.step
	if !sync && time.Since(s.synced) < syncEvery && s.steps.Size() < largestSteps {
		text, err := json.Marshal(new)
		if err != nil {
			return err
		}
		return s.steps.Append(text)
	}
	text, err := statefolder.Encode(stateVersion, new)
	if err != nil {
		return err
	}
	if err := s.folder.Replace(stateFile, text); err != nil {
		return err
	}
	s.synced = time.Now()
	return s.steps.Clear()
}

// key names the run-th process of a container.
func (s *store) key(uid, container string, run int) process.RecordKey {
	if s == nil {
		return process.RecordKey{}
	}
	return process.RecordKey{Owner: uid, Name: container, Run: run}
}

// options returns the options of the processes.
func (s *store) options() process.Options {
	if s == nil {
		return process.Options{}
	}
	return process.Options{Folder: s.folder.Dir(), Log: endsFile, Hold: s.folder.Guard}
}

// openState opens the folder of -state, if given, and returns the state left by an
// earlier run of the same Job.
func openState(dir string, m *manifest) (*store, *state, error) {
	if dir == "" {
		return nil, nil, nil
	}
	s, err := openStore(dir)
	var old *state
	if err == nil {
		old, err = s.load()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("-state: %w", err)
	}
	if old == nil {
		return s, nil, nil
	}
	m.ResumeName(old.Job.Name)
	if errs := old.check(m); len(errs) > 0 {
		return nil, nil, errs
	}
	return s, old, nil
}
