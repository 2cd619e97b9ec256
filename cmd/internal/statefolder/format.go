//go:build unix

package statefolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// sealed is the content of a state file since version 2. Version 1 was the bare state
// without a checksum, and for runjob without a version.
type sealed struct {
	Version  int             `json:"version"` // of the format; programs refuse unknown versions
	Checksum string          `json:"crc32"`   // of State without white space, as 8 hexadecimal digits
	State    json.RawMessage `json:"state"`
}

// Encode returns the text of a state file. version starts at 2. A program must raise it
// if earlier releases could misread the state.
func Encode(version int, state any) ([]byte, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	text, err = json.Marshal(sealed{Version: version, Checksum: checksum(text), State: text})
	return append(text, '\n'), err
}

// Decode decodes a state file into into. It accepts all versions up to version,
// including version 1. Its errors avoid Go type names.
func Decode(text []byte, version int, into any) error {
	var file sealed
	if err := decode(text, &file); err != nil {
		return err
	}
	switch {
	case file.Version > version:
		return fmt.Errorf("a later release has written it: version is %d, this release reads up to %d", file.Version, version)
	case file.State == nil && file.Version <= 1:
		return decode(text, into)
	case file.State == nil:
		return errors.New("not a state of this program: state is missing")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, file.State); err != nil {
		return err
	}
	if sum := checksum(compact.Bytes()); sum != file.Checksum {
		return fmt.Errorf("damaged or edited: the checksum is %s, must be %q", sum, file.Checksum)
	}
	return decode(file.State, into)
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

// decode is json.Unmarshal with errors free of Go type names.
func decode(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("not a state of this program, but a JSON %s", wrong.Value)
	}
	return fmt.Errorf("not a state of this program: %s is a JSON %s", wrong.Field, wrong.Value)
}
