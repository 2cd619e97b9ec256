//go:build unix

package statefolder

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decode stores the JSON text of a state in into. Its errors are for people who do not
// know the program's types.
func Decode(text []byte, into any) error {
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
