//go:build long

package kubelet

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A criwatch is a running one. exits and latest may be read after stop.
type criwatch struct {
	cmd       *exec.Cmd
	namespace string
	done      chan struct{} // closed at the end of its output

	mu      sync.Mutex
	stream  bool            // as of its last counters
	present map[string]bool // containers and sandboxes that are not removed, by id
	removed int
	started map[string]bool     // by id
	exits   map[string][]report // by POD/CONTAINER
	latest  time.Duration       // the longest from an exit to its line
}

// A criwatchLine is a line of restart watch -o json.
type criwatchLine struct {
	Type      string
	Pod       struct{ Namespace, Name string }
	Container struct {
		ID, Name string
		Sandbox  bool
		Attempt  int
	}
	Exit *struct {
		Code   int32
		Reason string
	}
	At      time.Time
	Latency float64
	Stats   struct{ Streaming bool }
}

func buildCriwatch(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "restart")
	build := exec.Command("go", "-C", "../../cmd", "build", "-o", program, "./restart")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, text)
	}
	return program
}

func startCriwatch(t *testing.T, namespace, program string, args ...string) *criwatch {
	t.Helper()
	c := &criwatch{
		namespace: namespace, done: make(chan struct{}),
		present: map[string]bool{}, started: map[string]bool{}, exits: map[string][]report{},
	}
	c.cmd = exec.CommandContext(t.Context(), program, append([]string{"watch", "--output", "json", "--stats", "1s"}, args...)...)
	c.cmd.Stderr = os.Stderr
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		c.read(t, output)
	}()
	return c
}

func (c *criwatch) read(t *testing.T, output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var l criwatchLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Errorf("criwatch wrote %s: %v", lines.Text(), err)
		}
		c.add(l)
	}
}

func (c *criwatch) add(l criwatchLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Type == "Stats" {
		c.stream = l.Stats.Streaming
	}
	id := l.Container.ID
	if id == "" || l.Pod.Namespace != c.namespace {
		return
	}
	name := l.Pod.Name + "/" + l.Container.Name
	switch {
	case l.Container.Sandbox && l.Type == "ContainerRemoved":
		delete(c.present, id)
		c.removed++
	case l.Container.Sandbox:
		c.present[id] = true
	case l.Type == "ContainerStarted":
		c.started[id] = true
	case l.Type == "ContainerDied":
		c.exits[name] = append(c.exits[name], c.report(l))
	}
}

func (c *criwatch) report(l criwatchLine) report {
	r := report{ending: ending{id: l.Container.ID}, attempt: l.Container.Attempt, started: c.started[l.Container.ID]}
	if l.Exit != nil {
		r.known, r.code, r.reason, r.finished = true, l.Exit.Code, l.Exit.Reason, l.At.Truncate(time.Second)
		c.latest = max(c.latest, time.Duration(l.Latency*float64(time.Second)))
	}
	return r
}

// streaming reports whether criwatch has an event stream.
func (c *criwatch) streaming() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream
}

// sawAllRemoved reports whether all sandboxes that criwatch has reported are removed.
// The kubelet removes a sandbox after its containers.
func (c *criwatch) sawAllRemoved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removed > 0 && len(c.present) == 0
}

func (c *criwatch) stop(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-c.done
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
