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
	"strings"
	"syscall"
	"time"
)

// errEnded says that a program ended before it was ready.
var errEnded = errors.New("has ended")

// guard is a shell that knows the ids of running processes. When its input closes,
// because this process ended or was killed, it kills them and removes the folder.
type guard struct {
	dir   string
	cmd   *exec.Cmd
	input io.WriteCloser
}

// The tries allow for a killed process that remains a zombie because another process
// should wait for it, and for one that writes to the folder while it is being removed.
const guardScript = `
ids=
while read -r op id; do
	case $op in
	start) ids="$ids $id" ;;
	end)
		left=
		for i in $ids; do [ "$i" = "$id" ] || left="$left $i"; done
		ids=$left ;;
	esac
done
[ -z "$ids" ] || kill -9 $ids 2>/dev/null
tries=50
for i in $ids; do
	while [ $tries -gt 0 ] && kill -0 "$i" 2>/dev/null; do tries=$((tries - 1)); sleep 0.1; done
done
tries=600
until rm -rf "$1" || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.1; done
[ ! -e "$1" ]
`

func newGuard(dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "testenv-guard", dir)
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

// process is a program running under a guard.
type process struct {
	name  string
	log   string // file
	note  string // for the caller
	guard *guard
	cmd   *exec.Cmd
	done  chan struct{} // closed when the process has ended
	err   error         // the result; read it after done
}

func (g *guard) start(name, program string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(g.dir, name+".log"), guard: g, done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = g.dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(g.input, "start %d\n", p.cmd.Process.Pid)
	go func() {
		p.err = p.cmd.Wait()
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
	p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
	fmt.Fprintf(p.guard.input, "end %d\n", p.cmd.Process.Pid)
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
