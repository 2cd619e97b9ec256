package process

import "syscall"

// DieWithParent has the kernel kill the process when its parent ends.
func DieWithParent(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGKILL
	return a
}

// adoptOrphans makes this process the parent of descendants whose parent ends,
// so that they are reaped even where process 1 does not do it.
func adoptOrphans() {
	const prSetChildSubreaper = 36
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}
