package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// store is the folder of -state. It replaces the state as a whole: a kill at any
// moment leaves the old state or the new one. An exit that was not written yet is
// lost, and its command runs again.
type store struct {
	folder *statefolder.Folder
	saved  []byte
	bad    bool // the last write has failed
}

const stateFile = "supervise.json"

// openStore opens the folder, which no other process may use.
func openStore(dir string) (*store, error) {
	folder, err := statefolder.Open(dir, "supervise", stateFile)
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
		err = statefolder.Decode(text, stateVersion, &st)
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
	return fmt.Errorf("-state: %s: %w; remove it to start over", s.folder.Path(stateFile), err)
}

// write replaces the state, unless it is the same.
func (s *store) write(st state) error {
	text, err := statefolder.Encode(stateVersion, st)
	if err != nil || bytes.Equal(text, s.saved) {
		return err
	}
	if err := s.folder.Replace(stateFile, text); err != nil {
		return err
	}
	s.saved = text
	return nil
}
