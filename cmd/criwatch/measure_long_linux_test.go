//go:build long

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/pleg"
)

var (
	measured   = flag.String("measure", "", "numbers of `pods` to measure CPU time and latency at, for example 10,100")
	measureFor = flag.Duration("measure-for", 20*time.Second, "how long to count CPU time, for each row")
)

const (
	measuredExits = 100
	settling      = 30 * time.Second // what starting pods leaves to do
)

// measuredModes are the ways criwatch is run: a name, and the arguments.
var measuredModes = [][]string{{"evented"}, {"`-poll`, every second", "-poll"}}

// watch runs criwatch and waits for the end of its first lists.
func (d *kubelet) watch(t *testing.T, mode []string) *child {
	c := startChild(t, append([]string{"-endpoint", d.endpoint}, mode[1:]...)...)
	time.Sleep(5 * time.Second)
	return c
}

// TestMeasure prints, for each number of pods, the CPU time that watching them
// takes while nothing happens, and how late exits are reported: evented and polling.
func TestMeasure(t *testing.T) {
	if *measured == "" {
		t.Skip("measures for minutes: -measure 10,100")
	}
	d := newKubelet(t)
	table := [][]string{{"pods", "criwatch", "its CPU, ms/min", "containerd's", "shims'", "together", "exit to line, ms: p50", "p99", "event to line: p50", "p99"}}
	var pods []testPod
	for text := range strings.SplitSeq(*measured, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < len(pods) {
			t.Fatalf("-measure %s: must be numbers that grow", *measured)
		}
		for len(pods) < n {
			p := d.runPod()
			d.start(p, "sleep 1000000")
			pods = append(pods, p)
		}
		time.Sleep(settling)
		unwatched := idleCPU(t, d, 0)
		table = append(table, slices.Concat([]string{text, "does not run"}, cpuRow(unwatched), make([]string, 4)))
		// First everything that is measured in idleness: exits leave work behind.
		idle := make([]cpuTime, len(measuredModes))
		for i, mode := range measuredModes {
			c := d.watch(t, mode)
			idle[i] = idleCPU(t, d, c.Process.Pid)
			c.end(syscall.SIGINT)
		}
		for i, mode := range measuredModes {
			c := d.watch(t, mode)
			whole, own := exitLatencies(d, c, pods)
			c.end(syscall.SIGINT)
			table = append(table, slices.Concat([]string{text, mode[0]}, cpuRow(idle[i]),
				[]string{ms(whole.at(.5)), ms(whole.at(.99)), ms(own.at(.5)), ms(own.at(.99))}))
		}
	}
	fmt.Printf("\n%s, %d exits and %v of idleness a row, load average %s\n\n", time.Now().UTC().Format(time.DateTime), measuredExits, *measureFor, loadAverage(t))
	for i, cells := range table {
		fmt.Println("| " + strings.Join(cells, " | ") + " |")
		if i == 0 {
			fmt.Println(strings.Repeat("|---", len(cells)) + "|")
		}
	}
}

// ms is a duration in milliseconds, nothing if there is none.
func ms(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", milliseconds(d))
}

// A cpuTime is what the client, containerd and its shims have used.
type cpuTime [3]time.Duration

// idleCPU returns the CPU time that the client, of which 0 is none, and the
// runtime use in a minute.
func idleCPU(t *testing.T, d *kubelet, client int) (perMinute cpuTime) {
	t.Helper()
	daemon, shims := runtimeProcesses(t, d.endpoint)
	now := func() (c cpuTime) {
		if client != 0 {
			c[0] = cpu(t, client)
		}
		c[1] = cpu(t, daemon)
		for _, pid := range shims {
			c[2] += cpu(t, pid)
		}
		return c
	}
	begun, before := time.Now(), now()
	time.Sleep(*measureFor)
	after, minutes := now(), time.Since(begun).Minutes()
	for i := range perMinute {
		perMinute[i] = time.Duration(float64(after[i]-before[i]) / minutes)
	}
	return perMinute
}

func cpuRow(c cpuTime) []string {
	return []string{ms(c[0]), ms(c[1]), ms(c[2]), ms(c[0] + c[1] + c[2])}
}

// cpu returns the CPU time that a process has used so far, by the kernel's clock
// of it (clock_getcpuclockid(3)).
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	const allThreads = 2 // CPUCLOCK_SCHED
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|allThreads), &used); err != nil {
		t.Fatalf("CPU time of process %d: %v", pid, err)
	}
	return time.Duration(used.Nano())
}

// runtimeProcesses returns the process that serves a unix socket, and those that
// have the socket as an argument: containerd's shims.
func runtimeProcesses(t *testing.T, endpoint string) (daemon int, shims []int) {
	t.Helper()
	socket := strings.TrimPrefix(endpoint, "unix://")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		t.Fatal(err)
	}
	who, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		line, _ := os.ReadFile(path) // it may have ended
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && slices.Contains(strings.Split(string(line), "\x00"), socket) {
			shims = append(shims, pid)
		}
	}
	return int(who.Pid), shims
}

func loadAverage(t testing.TB) string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// exitLatencies kills containers one after the other, at any point of the poll
// period, one in each pod at a time. It returns how long after that the line
// about each was read, and how long after the runtime's event of it, if there is
// one, the line was made.
func exitLatencies(d *kubelet, c *child, pods []testPod) (whole, own latencies) {
	for done := 0; done < measuredExits; {
		var ids []string
		var pids []int
		for _, p := range pods[:min(len(pods), measuredExits-done)] {
			id := d.start(p, "sleep 1000000")
			ids, pids = append(ids, id), append(pids, d.containerPid(id))
		}
		done += len(ids)
		programtest.Eventually(d.t, "the starts are reported", func() bool { return c.reported(pleg.ContainerStarted, ids) })
		killed := make([]time.Time, len(ids))
		for i, pid := range pids {
			time.Sleep(rand.N(150 * time.Millisecond))
			killed[i] = time.Now()
			kill(d.t, pid)
		}
		programtest.Eventually(d.t, "the exits are reported", func() bool { return c.reported(pleg.ContainerDied, ids) })
		for i, id := range ids {
			l := c.of(id, pleg.ContainerDied)[0]
			whole.add(l.read.Sub(killed[i]))
			if l.Since != nil {
				own.add(time.Duration(*l.Since * float64(time.Second)))
			}
			d.remove(id)
		}
	}
	return whole, own
}
