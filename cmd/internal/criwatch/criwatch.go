// Package criwatch prints the lifecycle events and exits of the containers that a CRI
// runtime, such as containerd or CRI-O, runs on this node. It runs package pleg on the
// runtime.
package criwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/restartkit/restart/cmd/internal/lockfile"
)

// Options are the settings of Watch.
type Options struct {
	Endpoint string // of the runtime, as ParseEndpoint returns it
	Format   string // text, or json with one object per line
	Colour   bool   // of the text
	State    string // file that makes the next Watch continue this one, locked meanwhile; "" for none

	Poll    bool          // do not use the runtime's event stream
	Relist  time.Duration // between full lists without a stream
	Evented time.Duration // between full lists with one
	Stats   time.Duration // between prints of the counters; 0 prints them only at the end; 0 with a State
	For     time.Duration // to watch; 0 means until the context ends

	// Size returns the size of the output. It is nil if the output is no regular file.
	Size func() (size int64, ok bool)
}

// Errors of Watch, which it wraps. Any other means that the runtime did not answer.
var (
	ErrOutput  = errors.New("cannot write the output")
	ErrState   = errors.New("cannot use the state") // damaged, unreadable, of another runtime, or cannot be locked
	ErrUnsaved = errors.New("cannot save the state")
)

// Watch connects to the runtime and prints until ctx ends. Standard output gets events,
// exits and counters, and log gets the troubles with the runtime.
//
// Without a state, Watch begins with the present containers. With one, it continues where the
// last Watch with this state ended, however that ended, and prints every event and every
// exit once:
//
//   - An event is saved together with its lines before they are printed, and marked as
//     printed afterwards. If the program is killed in between, the next one finds the
//     lines in the state.
//   - If the output is a regular file in append mode, the next program looks at its
//     size, and prints the missing ones of these lines. So each line is in the file once.
//   - Of any other output, such as a pipe or a terminal, nobody can tell whether it got
//     them. They are printed again, and a warning in the log says so. After a kill, the
//     lines of one event may therefore appear twice, and none is missing.
//
// A container that came and went while no Watch ran is not seen, as the runtime does not
// tell.
func Watch(ctx context.Context, o Options, stdout io.Writer, log *slog.Logger) error {
	if o.State != "" {
		lock, err := lockfile.Take(o.State)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
		defer lock.Release()
	}
	saved, err := loadState(o)
	if err != nil {
		return err
	}
	conn, err := dial(o.Endpoint)
	if err != nil {
		return fmt.Errorf("endpoint %q: %w", o.Endpoint, err)
	}
	defer conn.Close()
	n := newNode(conn)
	name, err := n.greet(ctx, o.Endpoint)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	if err != nil {
		return err
	}
	if o.For > 0 {
		limited, cancel := context.WithTimeout(ctx, o.For)
		defer cancel()
		ctx = limited
	}
	log.Info("watching", "runtime", name, "endpoint", o.Endpoint)
	w, err := newWatch(n, o, saved, stdout, log)
	if err != nil {
		return err
	}
	return w.run(ctx)
}
