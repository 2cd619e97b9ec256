package criwatch

import (
	"fmt"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/statefile"
)

// state is the content of the file of Options.State.
type state struct {
	Endpoint string `json:"endpoint"`

	// Position is where the next reader of exits continues. The exits before it have been
	// printed, or are in Unreported.
	Position   pleg.ExitPosition[string] `json:"position"`
	Unreported []pleg.Exit[string]       `json:"unreported,omitempty"`

	// Pods holds the printed facts of each pod, by its sandbox.
	Pods map[string]*podView `json:"pods,omitempty"`

	// Lines are printed as soon as the state is saved. Until it is saved once more without
	// them, nobody can tell whether they have been, except by the size that the output had
	// before.
	Lines  string `json:"lines,omitempty"`
	Before *int64 `json:"before,omitempty"` // nil if the output is no regular file
}

// loadState returns the state that a watch continues, or nil if it begins.
func loadState(o Options) (*state, error) {
	if o.State == "" {
		return nil, nil
	}
	var s state
	found, err := statefile.Load(o.State, &s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w in %s: %w", ErrState, o.State, err)
	case !found:
		return nil, nil
	case s.Endpoint != o.Endpoint:
		return nil, fmt.Errorf("%w in %s: it is that of %s, not of %s", ErrState, o.State, s.Endpoint, o.Endpoint)
	}
	for pod, p := range s.Pods {
		if p == nil {
			return nil, fmt.Errorf("%w in %s: nothing is known of pod %s", ErrState, o.State, pod)
		}
		for id, c := range p.Containers {
			if c == nil {
				return nil, fmt.Errorf("%w in %s: nothing is known of container %s", ErrState, o.State, id)
			}
		}
	}
	return &s, nil
}

// missing returns the part of the lines that the output does not have yet. told is false
// if that is unknown, and then missing returns all of them.
func (s *state) missing(o Options) (lines string, told bool) {
	if s.Lines == "" {
		return "", true
	}
	if o.Size == nil || s.Before == nil {
		return s.Lines, false
	}
	size, ok := o.Size()
	if printed := size - *s.Before; ok && 0 <= printed && printed <= int64(len(s.Lines)) {
		return s.Lines[printed:], true
	}
	return s.Lines, false
}
