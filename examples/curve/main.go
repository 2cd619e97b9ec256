// Command curve prints the delays of the kubelet's crash-loop back-off.
//
// It prints:
//
//	10s 20s 40s 1m20s 2m40s 5m0s 5m0s
package main

import (
	"fmt"

	"github.com/restartkit/restart/backoff"
)

func main() {
	curve := backoff.CrashLoop() // the kubelet's: 10s, doubled up to 5m
	for failures := 1; failures <= 7; failures++ {
		fmt.Print(curve.Delay(failures), " ")
	}
}
