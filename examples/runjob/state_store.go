package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/examples/internal/statefolder"
)

// store is a folder that outlives this program. A nil store keeps nothing.
//
// It has the state as it was a second ago at most (stateFile), which the disk has;
// every state since then (stepsFile); and how processes ended (endsFile), which
// their guard writes. When this program is killed the last step is there. When the
// machine ends, with all processes, the last second may be lost: then what was
// decided in it is decided again. Any beginning of these files goes together: an
// end that belongs to no pod of the state is dropped, a pod without its end runs
// again.
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

// How long, and for how many bytes, steps are kept beside the state.
const (
	syncEvery    = time.Second
	largestSteps = 8 << 20
)

// openStore makes the folder if need be and takes hold of it.
func openStore(dir string) (*store, error) {
	folder, err := statefolder.Open(dir, "runjob")
	if err != nil {
		return nil, err
	}
	return &store{folder: folder}, nil
}

// load returns what the last run left, nil if there was none.
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
	if last.Run == old.Run && last.Step > old.Step { // else they are those of the run before
		return last, nil
	}
	return old, nil
}

func (s *store) parse(name string, text []byte) (*state, error) {
	var st state
	err := json.Unmarshal(text, &st)
	if err == nil {
		err = st.valid()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove the folder to begin anew", s.folder.Path(name), err)
	}
	return &st, nil
}

// histories returns how the processes of every pod ended, by UID.
func (s *store) histories() (map[string]history, error) {
	if s == nil {
		return nil, nil
	}
	records, err := process.ReadJournal(s.folder, endsFile)
	return histories(records), err
}

// begin keeps of the ends what these pods still need, before anything is started,
// and begins the steps of a new run.
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

// save adds a state to the steps, or replaces the saved one, when it is time or
// sync is set.
func (s *store) save(new *state, sync bool) error {
	s.step++
	new.Step = s.step
	text, err := json.Marshal(new)
	if err != nil {
		return err
	}
	if !sync && time.Since(s.synced) < syncEvery && s.steps.Size() < largestSteps {
		return s.steps.Append(text)
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

// options are those of the processes.
func (s *store) options() process.Options {
	if s == nil {
		return process.Options{}
	}
	return process.Options{Folder: s.folder.Dir(), Log: endsFile, Hold: s.folder.Guard}
}
