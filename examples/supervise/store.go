package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

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
