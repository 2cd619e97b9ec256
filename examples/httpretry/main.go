// Command httpretry repeats a request to a busy server when the server asks it to, but after
// a minute at most.
//
// It prints:
//
//	attempt 1: 429 Too Many Requests, retry after 1s: waiting 1s
//	attempt 2: 503 Service Unavailable: waiting 200ms
//	hello
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

func main() {
	client := &http.Client{Transport: &busyServer{}}
	text, err := get(context.Background(), client, "http://example.com/")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(text)
}

// get returns the body of a page. It tries five times, each for at most ten seconds, and
// waits for at most a minute because a server asks for it.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	policy := backoff.Policy{Initial: 100 * time.Millisecond, Max: 10 * time.Second}
	options := backoff.RetryOptions{
		Attempts:      5,
		Timeout:       10 * time.Second,
		MaxRetryAfter: time.Minute,
		Notify: func(attempt int, err error, delay time.Duration) {
			fmt.Printf("attempt %d: %v: waiting %v\n", attempt, err, delay)
		},
	}
	return backoff.RetryValue(ctx, policy, func(ctx context.Context) (string, error) {
		return getOnce(ctx, client, url)
	}, options)
}

// getOnce sends one request. Its error says whether and when to repeat it.
func getOnce(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", backoff.Permanent(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	err = errors.New(response.Status)
	if !worthRetrying(response.StatusCode) {
		return "", backoff.Permanent(err)
	}
	if delay := retryAfter(response.Header, time.Now()); delay > 0 {
		err = fmt.Errorf("%w, %w", err, backoff.RetryAfter(delay))
	}
	return "", err
}

// worthRetrying reports whether a server that answered with this status may give another
// answer later.
func worthRetrying(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// retryAfter returns how long a response asks to wait with its header Retry-After, a
// number of seconds or a date. It returns 0 if there is no such header, if the date has
// passed, or if the header is neither.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// busyServer stands for a server. It answers its third request.
type busyServer struct{ requests int }

// RoundTrip answers a request.
func (s *busyServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.requests++
	switch s.requests {
	case 1:
		return answer(request, http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}, ""), nil
	case 2:
		return answer(request, http.StatusServiceUnavailable, nil, ""), nil
	default:
		return answer(request, http.StatusOK, nil, "hello"), nil
	}
}

func answer(request *http.Request, status int, header http.Header, body string) *http.Response {
	return &http.Response{
		StatusCode: status,
		Status:     fmt.Sprint(status, " ", http.StatusText(status)),
		Header:     header,
		Body:       io.NopCloser(strings.NewReader(body)),
		Request:    request,
	}
}
