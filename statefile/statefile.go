// Package statefile keeps the state of a program in a file that survives kill -9 and
// power failures.
//
//	var state struct{ Runs int }
//	found, err := statefile.Load("state.json", &state)
//	state.Runs++
//	err = statefile.Save("state.json", &state)
//
// Each Save replaces the file atomically, so it always has the content of one Save, the
// last or the one before. Put everything that must agree into one value and one file,
// such as a Restarter of package backoff and an ExitPosition of package pleg.
//
// The file is replaced, not written to. A file that is mounted on its own, as by a
// subPath volume of Kubernetes or by docker run -v file:file, cannot be replaced, and
// Save returns an error. Mount its folder instead.
//
// One program at a time may use a file. Its goroutines may save at once: their Saves take
// turns, and each writes the state as it is at its turn, so that none brings an older state
// back. A state that other goroutines change meanwhile needs a lock in its MarshalJSON, as a
// Restarter has.
package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/restartkit/restart/internal/crashpoint"
)

// temporary is the suffix of a file being written.
const temporary = ".new"

// Save replaces the file at path by the indented JSON of state and returns when it is on
// disk, with mode 0600. After an error the file has its former content, or the new one
// if only its folder could not be synced. Save replaces a symbolic link at path, not its
// target.
//
// The Saves of all files take turns. So the MarshalJSON of a state calls no Save, and the
// caller holds no lock that one takes.
//
// Save returns an error if state is or contains a struct of which nothing would be saved,
// because all of its fields are unexported and it has no MarshalJSON or MarshalText. If
// its pointer has one of these methods, pass a pointer.
func Save(path string, state any) error {
	folder, name := filepath.Split(path) // unlike Dir, Split leaves link/.. to the system
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("statefile: Save(%q): not the path of a file", path)
	}
	if err := checkSaved(state); err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	if folder == "" {
		folder = "."
	}
	saving.Lock()
	defer saving.Unlock()
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	defer root.Close()
	if err := Replace(root, name, append(text, '\n')); err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	return nil
}

// Load decodes the JSON file at path into state, which is a pointer. found is true if the
// file was read and decoded. Check err first: after an error found is false, although the
// file exists, and state may be half filled. An error wrapping a *fs.PathError means that
// the file could not be read, and any other that its content is damaged or that state
// cannot hold it.
func Load(path string, state any) (found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, state)
	}
	if err != nil {
		return false, fmt.Errorf("statefile: Load(%q): %w", path, err)
	}
	return true, nil
}

// saving is held by a Save from the encoding of its state on, so that the state encoded last is
// also written last.
var saving sync.Mutex

// replacing is held by a Replace, because two at once would write the same name.new.
var replacing sync.Mutex

// Replace replaces a file of the folder root atomically and returns when it is on disk,
// with mode 0600. It writes name.new first, which only a crash leaves behind, and the
// next Replace removes.
func Replace(root *os.Root, name string, content []byte) error {
	replacing.Lock()
	defer replacing.Unlock()
	next := name + temporary
	if err := root.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	crashpoint.Reached()
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		crashpoint.Reached()
		err = root.Rename(next, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(next))
	}
	crashpoint.Reached()
	defer crashpoint.Reached()
	return syncFolder(root)
}

// syncFolder writes the list of a folder's files to disk. Windows does so by itself.
func syncFolder(root *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
