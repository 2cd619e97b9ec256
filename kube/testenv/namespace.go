package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// A namespace runs programs in a PID, mount and, in version 2, cgroup namespace. Its first process is this
// program under another name, see [firstProcess]. When that ends, the kernel kills all
// others, and their mounts vanish.
type namespace struct {
	dir     string
	first   *process
	overlay bool // whether folder dir can hold the layers of an overlay

	mu       sync.Mutex // guards the fields below
	commands *json.Encoder
	running  map[string]*process // by name
}

// A command tells the first process to start a program or, without a path, to kill it.
type command struct {
	Name string   `json:"name"`
	Path string   `json:"path,omitempty"`
	Args []string `json:"args,omitempty"` // without the program's name
	Log  string   `json:"log,omitempty"`  // file
}

// A report says that the first process is ready or has failed, or that a program has
// ended.
type report struct {
	Overlay bool   `json:"overlay,omitempty"`
	Failed  string `json:"failed,omitempty"`
	Name    string `json:"name,omitempty"`
	Status  string `json:"status,omitempty"` // with which the program ended
}

// firstProcessName is the name under which a program runs [firstProcess], which nobody
// would give to a program.
const firstProcessName = "testenv: first process of a node"

// newNamespace starts the first process in the cgroup. It mounts folders of folder over those of
// the machine, see [arrange].
func (g *guard) newNamespace(ctx context.Context, c cgroup, folder string) (_ *namespace, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirCommands, commands, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirCommands.Close()
	reports, theirReports, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, commands.Close())
	}
	defer theirReports.Close()
	var root *os.File // of the cgroup namespace
	if c.unified {
		if root, err = os.Open(filepath.Join(cgroupFolder, c.name)); err != nil {
			return nil, errors.Join(err, commands.Close(), reports.Close())
		}
		defer root.Close()
	}
	cmd := &exec.Cmd{
		Path: program, Args: []string{firstProcessName, folder},
		Stdin: theirCommands, Stdout: theirReports, SysProcAttr: ownNamespaces(root),
	}
	n := &namespace{dir: g.dir, commands: json.NewEncoder(commands), running: map[string]*process{}}
	if n.first, err = g.launch("node", cmd); err != nil {
		return nil, errors.Join(err, commands.Close(), reports.Close())
	}
	theirReports.Close() // so that reports end with the process
	stop := context.AfterFunc(ctx, n.first.end)
	defer stop()
	decoder := json.NewDecoder(reports)
	var ready report
	if err := decoder.Decode(&ready); err != nil || ready.Failed != "" {
		n.first.kill()
		return nil, errors.Join(
			fmt.Errorf("the node's namespace: %s: %w\n%s", ready.Failed, errEnded, n.first.lastLines(10)),
			context.Cause(ctx), commands.Close(), reports.Close())
	}
	n.overlay = ready.Overlay
	go func() {
		n.listen(decoder)
		commands.Close()
		reports.Close()
	}()
	return n, nil
}

// listen ends each process that has ended and, when the namespace has, all of them.
func (n *namespace) listen(reports *json.Decoder) {
	ended := func(p *process, status string) {
		p.err = errors.New(status)
		close(p.done)
	}
	for {
		var r report
		err := reports.Decode(&r)
		n.mu.Lock()
		if err != nil {
			n.commands = json.NewEncoder(closedPipe{})
			for _, p := range n.running {
				ended(p, "the node has ended")
			}
			clear(n.running)
		} else if p := n.running[r.Name]; p != nil {
			delete(n.running, r.Name)
			ended(p, r.Status)
		}
		n.mu.Unlock()
		if err != nil {
			return
		}
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// start starts a program. No other of this name may be running.
func (n *namespace) start(name, program string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(n.dir, name+".log"), done: make(chan struct{})}
	p.end = func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.running[name] == p {
			n.commands.Encode(command{Name: name}) // an error means that the node has ended
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.commands.Encode(command{Name: name, Path: program, Args: args, Log: p.log}); err != nil {
		return nil, fmt.Errorf("starting %s in the node's namespace: %w", name, err)
	}
	n.running[name] = p
	return p, nil
}
