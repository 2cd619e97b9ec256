// Command retry connects to a server that is busy at first.
//
// It prints:
//
//	503 Service Unavailable, retry after 1s
//	503 Service Unavailable
//	connected: <nil>
package main

import (
	"context"
	"fmt"
	"github.com/restartkit/restart/backoff"
)

func main() {
	err := backoff.Retry(context.Background(), backoff.ReducedCrashLoop(), connect)
	fmt.Println("connected:", err)
}
