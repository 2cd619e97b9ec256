package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/restartstate"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/pleg"
)

// A key names a container across its attempts and the sandboxes of its pod.
type key struct{ Namespace, Pod, UID, Name string }

// String returns the name for people.
func (k key) String() string { return k.Namespace + "/" + k.Pod + "/" + k.Name }

// MarshalText joins the parts with slashes. Slashes within a part are escaped.
func (k key) MarshalText() ([]byte, error) {
	parts := []string{k.Namespace, k.Pod, k.UID, k.Name}
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return []byte(strings.Join(parts, "/")), nil
}

// UnmarshalText decodes the result of MarshalText.
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

// An identity identifies the runtime of a state. Containers of other runtimes and
// machines are different containers, even under the same names.
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

// restartState is the content of the state file. It holds the position up to which the
// exits were read, and the decisions on them.
type restartState struct {
	Node       identity                   `json:"node"`
	Position   *pleg.ExitPosition[string] `json:"position"`
	Containers map[key]savedTask          `json:"containers"`
}

// stateVersion is the version of the state's format. Version 1 had no checksum.
const stateVersion = 2

// A savedTask is a container with a decision.
type savedTask struct {
	Sandbox   string                  `json:"sandbox"`
	Container string                  `json:"container"`
	Backoff   *backoff.RestarterState `json:"backoff"` // Last.Run is the exited attempt, counted from 1
}

// valid returns an error that names the field if no run on node can have written the
// state.
func (st *restartState) valid(node identity) error {
	switch {
	case st.Node != node:
		return fmt.Errorf("it belongs to %s on machine %s at %s; this is %s on machine %s at %s",
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

// readState returns the state of a runtime, or nil if it has none yet. Exits missing
// from the state come again and are decided again. The runtime shows whether their
// containers were restarted.
func readState(s *statefolder.Store, node identity) (*restartState, error) {
	var st restartState
	found, err := s.Load(&st, func() error { return st.valid(node) })
	if !found {
		return nil, err
	}
	return &st, nil
}
