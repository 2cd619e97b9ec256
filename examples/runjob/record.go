package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/restartkit/restart/examples/internal/process"
)

// exit is how a process ended, and in a state folder the record of it.
type exit struct {
	Code    int       `json:"code"`              // its exit code, 128+n if signal n killed it
	Signal  int       `json:"signal,omitempty"`  // the signal that killed it, or 0
	Message string    `json:"message,omitempty"` // why it could not be started
	Began   time.Time `json:"began"`
	At      time.Time `json:"at"`
	Stopped bool      `json:"stopped,omitempty"` // it was told to end before it did
}

func exitOf(e process.Exit) exit {
	return exit{Code: e.Code, Signal: int(e.Signal), At: e.At}
}

// writeFile replaces a file as a whole: after the end of this process at any
// moment it is there as it was or as it is to be. (Not after the end of the
// machine: nothing waits for its disk.)
func writeFile(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// readRecord reads how a process ended, if that was recorded.
func readRecord(path string) (e exit, ok bool) {
	text, err := os.ReadFile(filepath.Clean(path))
	return e, err == nil && json.Unmarshal(text, &e) == nil
}
