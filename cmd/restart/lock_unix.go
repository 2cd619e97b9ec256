//go:build unix

package main

import (
	"os"
	"syscall"
)

// lockFile locks a file until it is closed or this program ends.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
