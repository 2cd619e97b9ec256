//go:build unix

package statefolder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Store keeps a program's state in one file of its folder, which it replaces
// atomically. Its errors begin with the flag -state.
type Store struct {
	*Folder
	file    string
	version int    // of the format
	saved   []byte // content of the file
	failed  bool   // the last Save failed
}

// OpenStore opens the folder like Open. The state file is PROGRAM.json.
func OpenStore(dir, program string, version int) (*Store, error) {
	file := program + ".json"
	folder, err := Open(dir, program, file)
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	return &Store{Folder: folder, file: file, version: version}, nil
}

// Load decodes the state into into, and reports whether the file exists. valid must
// return an error for a state that no run can have written.
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

// Unusable wraps the reason why the state cannot be used.
func (s *Store) Unusable(err error) error {
	return fmt.Errorf("-state: %s: %w; remove it to start over, or name another folder", s.Path(s.file), err)
}

// Save replaces the state if changed. It calls warn on the first of consecutive
// failures.
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
