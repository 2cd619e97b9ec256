// Command retry repeats an HTTP request that a busy server refuses. It waits with
// growing delays, and at least as long as the server's Retry-After.
//
// It prints:
//
//	503 Service Unavailable: again in 50ms
//	503 Service Unavailable: again in 1s
//	200 OK
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/restartkit/restart/backoff"
)

func main() {
	server := httptest.NewServer(busyTwice())
	defer server.Close()

	curve := backoff.Policy{Initial: 50 * time.Millisecond, Max: 10 * time.Second}
	for failures := 1; ; failures++ {
		response, err := http.Get(server.URL)
		if err != nil {
			panic(err)
		}
		response.Body.Close()
		if response.StatusCode < 500 {
			fmt.Println(response.Status)
			return
		}
		delay := max(curve.Delay(failures), retryAfter(response))
		fmt.Printf("%s: again in %v\n", response.Status, delay)
		time.Sleep(delay)
	}
}

// retryAfter returns how long the server asks clients to wait.
func retryAfter(r *http.Response) time.Duration {
	seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second
}

// busyTwice refuses two requests, the second with a Retry-After.
func busyTwice() http.HandlerFunc {
	requests := 0
	return func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 2 {
			w.Header().Set("Retry-After", "1")
		}
		if requests <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}
