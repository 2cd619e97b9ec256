package criwatch

import (
	"io"
	"time"

	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/pleg"
)

// A writer prints lines and counters. After an error it keeps failing.
type writer interface {
	line(line) error
	stats(counters) error
}

// newWriter returns the writer of a format, text or json.
func newWriter(format string, out io.Writer, colours bool) writer {
	if format == "json" {
		return jsonWriter{out}
	}
	return &textWriter{out, screen.Style{Colours: colours}, []int{len(clockFormat), len(pleg.ContainerStarted), 28, 14}}
}

// counters holds the counters at one moment.
type counters struct {
	at      time.Time
	ended   bool // of the program
	stats   pleg.Stats
	healthy error
	late    latencies // from exit to printed event
	since   latencies // from the runtime's event of an exit to the printed event
}
