package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errEnded says that a program ended before it was ready.
var errEnded = errors.New("has ended")

// guard is a shell that knows the ids of running processes and the names of cgroups.
// When its input closes, because this process ended or was killed, it kills the
// processes and removes the cgroups and the folder.
type guard struct {
	dir   string
	cmd   *exec.Cmd
	input io.WriteCloser
}

// The tries allow for a killed process that remains a zombie because another process
// should wait for it, and for one that writes to the folder while it is being removed.
const guardScript = `
ids= cgroup=
while read -r op id; do
	case $op in
	start) ids="$ids $id" ;;
	end)
		left=
		for i in $ids; do [ "$i" = "$id" ] || left="$left $i"; done
		ids=$left ;;
	cgroup) cgroup=$id ;;
	esac
done
[ -z "$ids" ] || kill -9 $ids 2>/dev/null
tries=50
for i in $ids; do
	while [ $tries -gt 0 ] && kill -0 "$i" 2>/dev/null; do tries=$((tries - 1)); sleep 0.1; done
done
cgroups_removed() {
	[ -n "$cgroup" ] || return 0
	left=0
	while read -r _ folder type _; do
		case $type in cgroup | cgroup2) ;; *) continue ;; esac
		[ -d "$folder/$cgroup" ] || continue
		find "$folder/$cgroup" -depth -type d -exec rmdir {} ';' 2>/dev/null
		[ ! -d "$folder/$cgroup" ] || left=1
	done </proc/self/mounts
	return $left
}
tries=$2
until cgroups_removed && rm -rf "$1" || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.1; done
cgroups_removed && [ ! -e "$1" ]
`

// newGuard makes a temporary folder with a guard.
func newGuard() (*guard, error) {
	dir, err := os.MkdirTemp("", "testenv-")
	if err != nil {
		return nil, err
	}
	g, err := guardFolder(dir, 600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return g, nil
}

// guardFolder starts a guard of the folder, which tries so often, every tenth of a second,
// to remove it.
func guardFolder(dir string, tries int) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "testenv-guard", dir, strconv.Itoa(tries))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keep Ctrl-C from the guard
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guard{dir, cmd, input}, nil
}

// end removes the folder and waits for the guard to finish.
func (g *guard) end() error {
	return errors.Join(g.input.Close(), g.cmd.Wait())
}

// process is a program running under a guard, or in a namespace.
type process struct {
	name string
	log  string        // file
	note string        // for the caller
	pid  int           // 0 in a namespace
	end  func()        // kills it
	done chan struct{} // closed when the process has ended
	err  error         // the result; read it after done
}

func (g *guard) start(name, program string, args ...string) (*process, error) {
	return g.launch(name, exec.Command(program, args...))
}

// launch starts a command in the guard's folder. Its output goes to a log unless cmd
// says otherwise.
func (g *guard) launch(name string, cmd *exec.Cmd) (*process, error) {
	p := &process{name: name, log: filepath.Join(g.dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Dir, cmd.Stderr = g.dir, log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // keep Ctrl-C from it
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	p.end = func() { cmd.Process.Kill() } // an error means that it has ended
	_, err = fmt.Fprintf(g.input, "start %d\n", p.pid)
	go func() {
		p.err = cmd.Wait()
		fmt.Fprintf(g.input, "end %d\n", p.pid)
		close(p.done)
	}()
	if err != nil { // the guard is gone, so nothing would end the process after this one
		p.kill()
		return nil, fmt.Errorf("guard of %s: %w", name, err)
	}
	return p, nil
}

// kill kills the process and waits for it to end.
func (p *process) kill() {
	p.end()
	<-p.done
}

// await waits until the process is ready. It returns an error if the process or ctx
// ends first.
func (p *process) await(ctx context.Context, ready func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%s %w: %w; the end of its log:\n%s", p.name, errEnded, p.err, p.lastLines(10))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; the end of its log:\n%s", p.name, context.Cause(ctx), p.lastLines(10))
		case <-tick.C:
			if ready() {
				return nil
			}
		}
	}
}

func (p *process) lastLines(n int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// healthy reports whether a GET of url succeeds with a body starting with want.
func healthy(ctx context.Context, client *http.Client, url, want string) bool {
	if client == nil {
		client = http.DefaultClient
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return err == nil && response.StatusCode == http.StatusOK && strings.HasPrefix(string(body), want)
}
