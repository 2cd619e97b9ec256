//go:build unix && !linux

package process

// cgroup is always "", since only Linux has control groups.
type cgroup string

func cgroupFor(mark) cgroup { return "" }

func (cgroup) join() error   { return nil }
func (cgroup) leave() error  { return nil }
func (cgroup) kill()         {}
func (cgroup) remove() error { return nil }

func (cgroup) processes() []int { return nil }
