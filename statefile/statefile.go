// Package statefile keeps the state of a program in a file that survives kill -9 and
// power failures. Each Save replaces the file atomically, so it always has the content
// of one Save, the last or the one before.
//
// Save the state of a Restarter together with everything that must agree with it, such
// as an ExitPosition:
//
//	state := struct {
//		Restarter *backoff.Restarter[string]
//		Position  pleg.ExitPosition[string]
//	}{restarter, position}
//	err := statefile.Save("state.json", &state)
//
// One program at a time may use a file; its goroutines take turns.
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

// Save replaces the file at path by the JSON of state and returns when it is on disk,
// with mode 0600. After an error the file has its former content, or the new one if only
// its folder could not be synced. Save replaces a symbolic link, not its target.
func Save(path string, state any) error {
	if path == "" || os.IsPathSeparator(path[len(path)-1]) {
		return fmt.Errorf("statefile: Save(%q): not the path of a file", path)
	}
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	defer root.Close()
	if err := Replace(root, filepath.Base(path), append(text, '\n')); err != nil {
		return fmt.Errorf("statefile: Save(%q): %w", path, err)
	}
	return nil
}

// Load decodes the JSON file at path into state, which is a pointer, and reports whether
// the file exists.
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

// replacing makes calls of Replace take turns, since two would use the same name.new.
var replacing sync.Mutex

// Replace replaces a file of the folder root atomically and returns when it is on disk,
// with mode 0600. It writes name.new first, which a crash or an error may leave behind
// and the next Replace removes.
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
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	crashpoint.Reached()
	if err := root.Rename(next, name); err != nil {
		return err
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
