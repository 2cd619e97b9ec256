package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/lockfile"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/statefile"
)

// runState is the content of a state file.
type runState struct {
	Commands map[string]commandState    `json:"commands"`
	Restarts *backoff.Restarter[string] `json:"restarts"`
}

type commandState struct {
	Definition string `json:"definition"` // hash of the command
	Starts     int64  `json:"starts"`
}

// runStore is a state file that this program alone uses.
type runStore struct {
	path    string
	lock    *lockfile.File
	last    []byte // what the file holds
	unsaved bool   // the last save failed
}

func openRunStore(path string) (*runStore, error) {
	lock, err := lockfile.Take(path)
	if err != nil {
		return nil, err
	}
	return &runStore{path: path, lock: lock}, nil
}

func (s *runStore) close() { s.lock.Release() }

// save writes the state if it has changed, and then reports the events: who reads that
// an exit is counted finds it counted. It warns when saving begins to fail.
func (k *keeper) save() {
	if k.store != nil {
		if err := k.store.save(k.snapshot()); err != nil {
			k.note("warning: --state: %v; failures and delays are kept in memory only", err)
		}
	}
	k.tell()
}

func (k *keeper) snapshot() *runState {
	st := &runState{Commands: make(map[string]commandState), Restarts: k.restarter}
	for _, t := range k.tasks {
		st.Commands[t.name] = commandState{Definition: t.definition(), Starts: t.run}
	}
	return st
}

// save returns the first of errors in a row.
func (s *runStore) save(st *runState) error {
	text, err := json.Marshal(st)
	if err == nil && string(text) == string(s.last) {
		return nil
	}
	if err == nil {
		err = statefile.Save(s.path, st)
	}
	failedBefore := s.unsaved
	s.unsaved = err != nil
	if err != nil && failedBefore {
		return nil
	}
	if err == nil {
		s.last = text
	}
	return err
}

// resume goes on with the state of an earlier run, and returns notes about it.
// No command of that run runs any more, so their starts are allowed again.
func (k *keeper) resume() (notes []string, err error) {
	st := runState{Restarts: k.restarter}
	var unread *fs.PathError
	_, err = statefile.Load(k.store.path, &st)
	switch {
	case errors.As(err, &unread):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; remove the file to start over", err)
	}
	if st.Restarts != k.restarter { // null in a file that somebody has edited
		return nil, fmt.Errorf("%s: restarts is missing; remove the file to start over", human.Escape(k.store.path))
	}
	known := make(map[string]bool)
	var led time.Time // when the exit of k.lead was reported
	for _, t := range k.tasks {
		c, ok := st.Commands[t.name]
		switch {
		case !ok:
			continue
		case c.Definition != t.definition():
			notes = append(notes, fmt.Sprintf("%s starts over, since its command is now %s", t.name, human.Escape(oneLine(t.args))))
			continue
		}
		known[t.name] = true
		const most = 1 << 53
		t.run = min(max(c.Starts, 0), most)
		s, ok := k.restarter.State(t.name)
		isUsed := !s.StartedAt.IsZero()
		k.restarter.Lost(t.name)
		if !ok || s.Action == "" {
			continue
		}
		s, _ = k.restarter.State(t.name)
		t.run = max(t.run, s.Exit.Run)
		t.decision = s.Decision()
		t.exit = process.Exit{Code: int(s.Exit.Code), Signal: syscall.Signal(s.Exit.Signal)}
		// A start is also unused if the task was stopped to start again with a later one.
		if t.decision.Action == backoff.ActionRestartAll && !isUsed && s.Reported.After(led) {
			k.lead, led = t, s.Reported
		}
		notes = append(notes, t.resumed(k))
	}
	for name := range k.restarter.All() {
		if !known[name] {
			k.restarter.Reset(name)
		}
	}
	return notes, nil
}

// resumed says how a task goes on.
func (t *task) resumed(k *keeper) string {
	if t.over() {
		return fmt.Sprintf("%s has ended (exit code %d); remove %s to start over", t.name, t.exit.Code, human.Escape(k.store.path))
	}
	text := fmt.Sprintf("%s goes on after %s in a row", t.name, human.Count(t.decision.Failures, "failure"))
	if t.decision.Failures == 1 {
		text = t.name + " goes on after 1 failure"
	}
	if _, wait := k.restarter.CanStart(t.name); wait > 0 && wait != backoff.Forever {
		text += ", in " + human.Wait(wait)
	}
	return text
}

// definition returns a hash of a command. A command with another one starts over without
// failures, as a new container does.
func (c *keptCommand) definition() string {
	text, _ := json.Marshal([]any{c.args, c.env, c.dir})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// oneLine returns a command as typed in a shell.
func oneLine(args []string) string {
	words := slices.Clone(args)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$;&|<>()*?") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
