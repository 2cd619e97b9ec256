//go:build unix

package statefolder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Store keeps the state of a program in one file of its folder, which it replaces as a
// whole: a kill at any moment leaves the old state or the new one. Its errors begin with
// the flag -state.
type Store struct {
	*Folder
	file    string
	version int    // of the format
	saved   []byte // what the file holds
	failed  bool   // the last Save did
}

// OpenStore opens the folder, as Open does. The file is PROGRAM.json.
func OpenStore(dir, program string, version int) (*Store, error) {
	file := program + ".json"
	folder, err := Open(dir, program, file)
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	return &Store{Folder: folder, file: file, version: version}, nil
}

// Load stores the state in into, and reports whether there is one. valid says whether a
// run can have written it.
func (s *Store) Load(into any, valid func() error) (found bool, err error) {
	text, err := s.Read(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = Decode(text, s.version, into)
	}
	if err == nil {
		err = valid()
	}
	if err != nil {
		return false, s.Unusable(err)
	}
	return true, nil
}

// Unusable returns the error of a state that cannot be used for that reason.
func (s *Store) Unusable(err error) error {
	return fmt.Errorf("-state: %s: %w; remove it to start over, or name another folder", s.Path(s.file), err)
}

// Save replaces the state, unless it is the same. It calls warn for the first of several
// failures in a row.
func (s *Store) Save(state any, warn func(error)) {
	text, err := Encode(s.version, state)
	if err == nil && !bytes.Equal(text, s.saved) {
		if err = s.Replace(s.file, text); err == nil {
			s.saved = text
		}
	}
	if err != nil && !s.failed {
		warn(err)
	}
	s.failed = err != nil
}

// Unsaved reports whether the last Save failed.
func (s *Store) Unsaved() bool { return s.failed }
