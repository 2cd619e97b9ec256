//go:build unix

// Command processes keeps several commands running, each in a process of its own, until it
// gets SIGINT or SIGTERM:
//
//	processes 'sleep 1; exit 3' 'sleep 2'
//
// A command that fails runs again after a delay that grows. One that succeeds is finished.
// Processes that a command leaves behind get SIGKILL five seconds after its end. At the
// end of this program, commands that still run get SIGTERM, and SIGKILL five seconds later,
// with all that they have started. If this program is killed itself, they run on. Use
// examples/supervisor to find them again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

const grace = 5 * time.Second // between SIGTERM and SIGKILL

func main() {
	if len(os.Args) == 1 {
		log.Fatal("usage: processes COMMAND…, such as processes 'sleep 1; exit 3' 'sleep 2'")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := supervise.New(supervise.Options{
		Policy: backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure},
		Notify: func(e supervise.Event) { fmt.Println(e) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, line := range os.Args[1:] {
		err := s.Go(context.Background(), fmt.Sprintf("%d: %s", i+1, line), backoff.ExitPolicy{},
			func(ctx context.Context) error { return run(ctx, line, grace) })
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := s.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run runs a command, and all that it starts, to the end. The supervisor finds the exit code in
// the error.
func run(ctx context.Context, line string, grace time.Duration) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	// Since these are no files, the command writes to pipes. A child may outlive the shell, so
	// Wait waits until nobody holds them any more, but for at most WaitDelay.
	cmd.Stdout, cmd.Stderr = struct{ io.Writer }{os.Stdout}, struct{ io.Writer }{os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C reaches only this program
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) { // the shell has succeeded, but not all that it started has ended
		err = nil
	}
	if kill := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
		return errors.Join(err, kill)
	}
	return err
}
