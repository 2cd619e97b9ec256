package preset

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// Bounds of user input. They limit the restarts counted one by one, and keep sums of
// times within a Duration.
const (
	ShortestDelay = time.Millisecond
	Longest       = 10 * 365 * 24 * time.Hour
	LeastFactor   = 1.01 // except 1
	MostStarts    = 1_000_000
	LongestName   = 40 // letters that fit into a legend
)

// Duration parses a duration in least..Longest, ignoring spaces.
func Duration(text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 10s or 1m30s", text)
	case d < least || d > Longest:
		return 0, fmt.Errorf("%s is not in %s..%s", text, picture.Duration(least), picture.Duration(Longest))
	}
	return d, nil
}
