package preset

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// The bounds of what a person writes limit the number of restarts that are counted one by
// one, and keep sums of times within a Duration.
const (
	ShortestDelay = time.Millisecond
	Longest       = 10 * 365 * 24 * time.Hour
	LeastFactor   = 1.01 // but for 1
	MostStarts    = 1_000_000
	LongestName   = 40 // in letters; it is what a legend has room for
)

// Duration reads a duration from least to Longest. Spaces in it do not count.
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
