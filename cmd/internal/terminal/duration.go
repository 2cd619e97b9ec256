package terminal

import (
	"fmt"
	"time"
)

// Wait formats a waiting time, rounded for users.
func Wait(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Age formats an elapsed time in a few letters, like ages in kubectl.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}
