//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// fork starts the program at path.
func fork(path string, p *Process, files []*os.File) (pid int, err error) {
	return forkExec(path, p, files, &syscall.SysProcAttr{Setpgid: !p.command.SameGroup})
}
