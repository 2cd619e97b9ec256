package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/restartstate"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/pleg"
)

// A key names a container through its attempts and the sandboxes of its pod.
type key struct{ Namespace, Pod, UID, Name string }

// String is the name for people.
func (k key) String() string { return k.Namespace + "/" + k.Pod + "/" + k.Name }

// MarshalText returns the parts with slashes in between, and escaped where they have
// one.
func (k key) MarshalText() ([]byte, error) {
	parts := []string{k.Namespace, k.Pod, k.UID, k.Name}
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return []byte(strings.Join(parts, "/")), nil
}

// UnmarshalText reads what MarshalText returns.
func (k *key) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "/")
	if len(parts) != 4 {
		return fmt.Errorf("%q names no container: must be NAMESPACE/POD/UID/CONTAINER", text)
	}
	for i, to := range []*string{&k.Namespace, &k.Pod, &k.UID, &k.Name} {
		var err error
		if *to, err = url.PathUnescape(parts[i]); err != nil {
			return fmt.Errorf("%q names no container: %w", text, err)
		}
	}
	return nil
}

// An identity is what a state is about: containers of another runtime, or on another
// machine, are others, whatever their names.
type identity struct {
	Machine  string `json:"machine"`
	Runtime  string `json:"runtime"`
	Endpoint string `json:"endpoint"`
}

// identityOf returns the identity of a runtime on this machine.
func identityOf(runtime, endpoint string) identity {
	id := identity{Runtime: runtime, Endpoint: endpoint}
	if text, err := os.ReadFile("/etc/machine-id"); err == nil {
		id.Machine = strings.TrimSpace(string(text))
	}
	if id.Machine == "" {
		id.Machine, _ = os.Hostname()
	}
	return id
}

// restartState is everything that survives this program, in one file: up to where the
// exits were read, and what was decided about them.
type restartState struct {
	Node       identity                   `json:"node"`
	Position   *pleg.ExitPosition[string] `json:"position"`
	Containers map[key]savedTask          `json:"containers"`
}

// stateVersion is the number of the format of a state. Version 1 had no checksum.
const stateVersion = 2

// A savedTask is a container about which something was decided.
type savedTask struct {
	Sandbox   string                  `json:"sandbox"`
	Container string                  `json:"container"`
	Backoff   *backoff.RestarterState `json:"backoff"` // Last.Run is the attempt that has exited, counted from 1
}

// valid returns an error, with its field, for a state that no run can have written.
func (st *restartState) valid(node identity) error {
	switch {
	case st.Node != node:
		return fmt.Errorf("it is of %s on machine %s at %s, this is %s on machine %s at %s",
			st.Node.Runtime, st.Node.Machine, st.Node.Endpoint, node.Runtime, node.Machine, node.Endpoint)
	case st.Position == nil:
		return errors.New("position: must be given")
	}
	if err := st.Position.Validate(); err != nil {
		return restartstate.At("position", err)
	}
	for k, t := range st.Containers {
		at := "containers." + k.String()
		switch {
		case t.Sandbox == "" || t.Container == "":
			return fmt.Errorf("%s: sandbox and container must be given", at)
		case t.Backoff == nil:
			return fmt.Errorf("%s.backoff: must be given", at)
		case t.Backoff.Last.Run < 1 || t.Backoff.Last.Run > 1<<32:
			return fmt.Errorf("%s.backoff.last.run is %d, must be in [1, %d]", at, t.Backoff.Last.Run, int64(1)<<32)
		}
	}
	return nil
}

// A store is the folder of -state. It replaces the state as a whole: a kill at any
// moment leaves the old state or the new one. After the old one an exit comes again,
// and is decided again; the runtime knows whether its container was started.
type store struct {
	folder *statefolder.Folder
	saved  []byte
	bad    bool // the last write has failed
}

const stateFile = "criwatch.json"

// openStore opens the folder, which no other process may use.
func openStore(dir string) (*store, error) {
	folder, err := statefolder.Open(dir, "criwatch", stateFile)
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	return &store{folder: folder}, nil
}

// read returns the state, nil if there is none yet.
func (s *store) read(node identity) (*restartState, error) {
	text, err := s.folder.Read(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var st restartState
	if err == nil {
		err = statefolder.Decode(text, stateVersion, &st)
	}
	if err == nil {
		err = st.valid(node)
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	return &st, nil
}

func (s *store) unusable(err error) error {
	return fmt.Errorf("-state: %s: %w; remove it to start over, or name another folder", s.folder.Path(stateFile), err)
}

// write replaces the state, unless it is the same.
func (s *store) write(st restartState) error {
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
