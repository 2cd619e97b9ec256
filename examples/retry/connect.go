package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/restartkit/restart/backoff"
)

// connect sends a request and says how its failure is to be retried.
func connect(ctx context.Context) error {
	response := server.get(ctx)
	if response.StatusCode == http.StatusOK {
		return nil
	}
	err := errors.New(response.Status)
	if response.StatusCode < 500 {
		return backoff.Permanent(err)
	}
	if seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")); seconds > 0 {
		err = fmt.Errorf("%w, %w", err, backoff.RetryAfter(time.Duration(seconds)*time.Second))
	}
	fmt.Println(err)
	return err
}

// server is busy for two requests, and asks for a pause after the first.
var server busy = 2

type busy int

func (b *busy) get(context.Context) *http.Response {
	r := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
	if *b--; *b >= 0 {
		r.StatusCode = http.StatusServiceUnavailable
	}
	if *b == 1 {
		r.Header.Set("Retry-After", "1")
	}
	r.Status = fmt.Sprint(r.StatusCode, " ", http.StatusText(r.StatusCode))
	return r
}
