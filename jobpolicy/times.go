package jobpolicy

import "time"

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// mostSeconds is how many seconds a Duration holds.
const mostSeconds = int64(1<<63-1) / int64(time.Second)
