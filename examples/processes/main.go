//go:build unix

// Command processes keeps several commands running, each in a process of its own, until it
// gets SIGINT or SIGTERM:
//
//	processes 'sleep 1; exit 3' 'sleep 2'
//
// A command that fails runs again after a delay that grows. One that succeeds is finished.
// At the end, commands that still run get SIGTERM, and SIGKILL five seconds later. If this
// program is killed itself, they run on. Use examples/supervisor to find them again.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

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
			func(ctx context.Context) error { return run(ctx, line) })
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := s.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run runs a command to its end. The supervisor finds the exit code in the error.
func run(ctx context.Context, line string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C reaches only this program
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second // then SIGKILL
	return cmd.Run()
}
