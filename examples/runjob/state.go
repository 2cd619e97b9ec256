package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/restartkit/restart/examples/internal/statefolder"
	"github.com/restartkit/restart/jobpolicy"
)

// state is what a run leaves to the next one: all that the decisions are made
// from, and the attempts that are being made.
type state struct {
	Run    string           `json:"run"` // by this its processes are known
	Job    *jobpolicy.Job   `json:"job"` // with its status
	Fields envSources       `json:"fields"`
	Memory jobpolicy.Memory `json:"memory,omitzero"`
	Pods   []savedPod       `json:"pods,omitempty"`
	// Suspended are pods that an interruption has ended: for the Job they are
	// gone, the next run begins them anew.
	Suspended []savedPod `json:"suspended,omitempty"`
}

// savedPod is a pod without what its Job's template says of it.
type savedPod struct {
	Metadata jobpolicy.ObjectMeta `json:"metadata"`
	Index    int                  `json:"index"`
	Attempt  int                  `json:"attempt"`
	Status   jobpolicy.PodStatus  `json:"status"`
}

// store is a folder that outlives this program. It holds the state, and for each
// process of a pod a record of how it ended and a file of what it wrote. A nil
// store keeps nothing.
type store struct {
	dir  string
	lock *os.File // held as long as the program is there
}

// openStore makes the folder if need be and takes hold of it.
func openStore(dir string) (*store, error) {
	dir, err := filepath.Abs(dir) // processes run elsewhere
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir}
	if s.lock, err = statefolder.Open(dir); err != nil {
		return nil, err
	}
	return s, os.MkdirAll(s.processes(), 0o700)
}

func (s *store) processes() string { return filepath.Join(s.dir, "processes") }
func (s *store) file() string      { return filepath.Join(s.dir, "state.json") }

// load returns what the last run left, nil if there was none.
func (s *store) load() (*state, error) {
	text, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var old state
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file(), err)
	}
	if old.Job == nil || old.Run == "" {
		return nil, fmt.Errorf("%s: not a state of this program", s.file())
	}
	if err := old.Job.ValidateStatus(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file(), err)
	}
	return &old, nil
}

// save replaces the state.
func (s *store) save(new *state) error {
	if s == nil {
		return nil
	}
	return writeFile(s.file(), new)
}

// record is the file that tells how the run-th process of a container ended, ""
// if nothing does.
func (s *store) record(uid, container string, run int) string {
	if s == nil {
		return ""
	}
	return filepath.Join(s.processes(), fmt.Sprintf("%s.%s.%d", uid, container, run))
}

// logOf is the file of what that process wrote.
func logOf(record string) string {
	if record == "" {
		return ""
	}
	return record + ".log"
}
