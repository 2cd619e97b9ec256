// Command httpretry repeats a request to a busy server, no sooner than the server asks.
//
// It prints:
//
//	503 Service Unavailable, retry after 1s
//	503 Service Unavailable
//	200 OK after 3 requests
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

func main() {
	policy := backoff.Policy{Initial: 100 * time.Millisecond, Max: 10 * time.Second}
	requests := 0
	response, err := backoff.RetryValue(context.Background(), policy, func(context.Context) (*http.Response, error) {
		requests++
		return request()
	}, backoff.RetryOptions{Attempts: 5})
	if err != nil {
		panic(err)
	}
	fmt.Println(response.Status, "after", requests, "requests")
}

// request sends a request. Its error says whether and when to repeat it.
func request() (*http.Response, error) {
	response := server.get()
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	err := errors.New(response.Status)
	if response.StatusCode < 500 {
		return nil, backoff.Permanent(err)
	}
	if seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")); seconds > 0 {
		err = fmt.Errorf("%w, %w", err, backoff.RetryAfter(time.Duration(seconds)*time.Second))
	}
	fmt.Println(err)
	return nil, err
}

// server is busy for two requests, and asks for a pause after the first.
var server busy = 2

type busy int

func (b *busy) get() *http.Response {
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
