package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/restartkit/restart/pleg"
)

var (
	measured   = flag.String("measure", "", "numbers of `pods` to measure latency and CPU time at, for example 10,100")
	measureFor = flag.Duration("measure-for", time.Minute, "how long to count CPU time, for each row")
)

const measuredExits = 40

// TestMeasure prints, for each number of pods, what a second of watching them
// idle costs, in CPU time of the client and of the runtime, and how late an exit
// is told: evented and polling.
func TestMeasure(t *testing.T) {
	if *measured == "" {
		t.Skip("measures for minutes: -measure 10,100")
	}
	d := newDriver(t)
	runtimePid := peer(t, d.endpoint)
	rows := [][]string{strings.Split("pods|mode|client CPU ms/s|runtime CPU ms/s|both|event to line p50 ms|exit to line p50 ms|p99 ms", "|")}
	row := func(cells ...string) { rows = append(rows, cells) }
	made := 0
	for text := range strings.SplitSeq(*measured, ",") {
		pods, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("-measure: %v", err)
		}
		for ; made < pods; made++ {
			d.start(d.runPod(), "sleep 1000000")
		}
		time.Sleep(5 * time.Second) // what starting left to do
		none := cpuPerSecond(t, runtimePid)
		row(text, "nobody watches", "", ms(none[0]), ms(none[0]), "", "", "")
		for _, mode := range [][]string{{"evented"}, {"polling 1 s", "-poll"}} {
			c := startChild(t, append([]string{"-endpoint", d.endpoint}, mode[1:]...)...)
			time.Sleep(5 * time.Second)
			used := cpuPerSecond(t, c.cmd.Process.Pid, runtimePid)
			late, after := exitLatencies(d, c)
			row(text, mode[0], ms(used[0]), ms(used[1]), ms(used[0]+used[1]), ms(quantile(after, .5)), ms(quantile(late, .5)), ms(quantile(late, .99)))
			c.end(syscall.SIGINT)
		}
	}
	fmt.Printf("\n%s; load average %s\n\n", time.Now().UTC().Format(time.DateTime), loadAverage(t))
	for i, cells := range rows {
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
	return fmt.Sprintf("%.2f", milliseconds(d))
}

// peer returns the process that serves a unix socket.
func peer(t *testing.T, endpoint string) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: strings.TrimPrefix(endpoint, "unix://")}); err != nil {
		t.Fatal(err)
	}
	who, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		t.Fatal(err)
	}
	return int(who.Pid)
}

// cpuPerSecond returns the CPU time that each process uses in a second.
func cpuPerSecond(t *testing.T, pids ...int) []time.Duration {
	t.Helper()
	begun := time.Now()
	used := make([]time.Duration, len(pids))
	for i, pid := range pids {
		used[i] = -cpu(t, pid)
	}
	time.Sleep(*measureFor)
	for i, pid := range pids {
		used[i] = time.Duration(float64(used[i]+cpu(t, pid)) / time.Since(begun).Seconds())
	}
	return used
}

// cpu returns the CPU time that the threads of a process have used so far.
func cpu(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n)
	}
	return sum
}

func loadAverage(t *testing.T) string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// exitLatencies lets containers exit one after the other and returns how long
// after the exit, and how long after the runtime knew of it, each was told.
func exitLatencies(d *driver, c *child) (late, after []time.Duration) {
	p := d.runPod()
	defer d.removePod(p.id)
	for i := range measuredExits {
		id := d.start(p, fmt.Sprintf("sleep 1.%d", i%10)) // at any point of the poll period
		d.eventually("the exit is told", func() bool { return len(c.of(id, pleg.ContainerDied)) == 1 })
		l := c.of(id, pleg.ContainerDied)[0]
		late = append(late, time.Duration(*l.Latency*float64(time.Second)))
		if l.Since != nil {
			after = append(after, time.Duration(*l.Since*float64(time.Second)))
		}
		d.remove(id)
	}
	return late, after
}

func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(q*float64(len(list)-1))]
}
