//go:build !linux

package process

import "os"

// adoptOrphans is a no-op, since only process 1 adopts orphans here.
func adoptOrphans() error { return nil }

// descendants returns none, since they are not known here.
func descendants(int, map[int]bool) []*os.Process { return nil }

func inGroup(int, int) bool { return false }

// cgroup is always "", since only Linux has control groups.
type cgroup string

func ownCgroup() cgroup        { return "" }
func (cgroup) make(int) cgroup { return "" }
func (cgroup) occupied() bool  { return false }
func (cgroup) kill()           {}
func (cgroup) remove()         {}
