// Package retry compares backoff.Retry with github.com/cenkalti/backoff and
// github.com/avast/retry-go, by their own tests and by three programs, each in a file per
// library.
package retry

import (
	"errors"
	"time"
)

// What every version of a program uses.
var errPassword = errors.New("wrong password")

const (
	initial = 10 * time.Millisecond
	longest = time.Second
)
