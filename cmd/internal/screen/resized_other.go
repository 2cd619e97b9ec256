//go:build !unix

package screen

import "os"

func notifyResized(chan<- os.Signal) {}
