package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/process"
)

// state is the state that outlives this program. An exit not yet written is lost, and
// its command runs again.
type state struct {
	Run      string                  `json:"run"` // identifies the processes of the run that wrote the state
	Commands map[string]commandState `json:"commands"`
}

// stateVersion is the version of the state format. Version 1 had no checksum.
const stateVersion = 2

type commandState struct {
	Definition string         `json:"definition"` // hash of the command
	Run        int64          `json:"run"`
	Starts     int64          `json:"starts"`
	Stopped    bool           `json:"stopped,omitempty"` // by "supervise stop"
	Backoff    *backoff.State `json:"backoff,omitempty"` // absent before the first exit
}

// most is the upper bound of the counts in a state.
const most = 1 << 53

// valid returns an error that names the first field no run can have written.
func (st *state) valid() error {
	switch {
	case st.Run != "" && !process.ValidRun(st.Run):
		return fmt.Errorf("run is %q, which names no run", st.Run)
	}
	for _, name := range slices.Sorted(maps.Keys(st.Commands)) {
		c := st.Commands[name]
		at := "commands." + name
		switch {
		case !validName(name):
			return fmt.Errorf("commands has %q, which is not the name of a command", name)
		case c.Run < 0 || c.Starts < 0:
			return fmt.Errorf("%s: run is %d, starts is %d, must not be below 0", at, c.Run, c.Starts)
		case c.Run > most:
			return fmt.Errorf("%s.run is %d, must not be above %d", at, c.Run, int64(most))
		case c.Starts > c.Run:
			return fmt.Errorf("%s.starts is %d, must not be above run, %d", at, c.Starts, c.Run)
		case c.Backoff == nil:
		case c.Backoff.Exit.Run < 0 || c.Backoff.Exit.Run > c.Run:
			return fmt.Errorf("%s.backoff.exit.run is %d, must be in [0, run], [0, %d]", at, c.Backoff.Exit.Run, c.Run)
		case int64(c.Backoff.Failures) > c.Run:
			return fmt.Errorf("%s.backoff.failures is %d, must not be above run, %d", at, c.Backoff.Failures, c.Run)
		}
	}
	return nil
}

// definition returns a hash of the command's program, arguments, environment and
// folder. A command with a new definition starts over with no failures, like a new
// container.
func (c *command) definition() string {
	text, _ := json.Marshal([]any{c.args, c.env, c.dir})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
