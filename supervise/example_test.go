package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

// Two goroutines run until the program is told to end. The contexts passed to Go outlive
// them, so Run stops them in order: the server before the database it uses.
func Example() {
	s, err := supervise.New(supervise.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // or signal.NotifyContext
	ready := make(chan struct{})
	err = s.Go(context.Background(), "database", backoff.ExitPolicy{}, func(ctx context.Context) error {
		close(ready)
		<-ctx.Done()
		fmt.Println("database stops")
		return nil
	})
	if err != nil {
		panic(err)
	}
	err = s.Go(context.Background(), "server", backoff.ExitPolicy{}, func(ctx context.Context) error {
		<-ready
		cancel() // as a signal would
		<-ctx.Done()
		fmt.Println("server stops")
		return nil
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Run(ctx))
	// Output:
	// server stops
	// database stops
	// <nil>
}

// A rule gives up at once on a mistake that no restart mends.
func ExampleSupervisor_Go_rules() {
	s, err := supervise.New(supervise.Options{
		Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Millisecond, Max: time.Second}},
		Notify: func(e supervise.Event) { fmt.Println(e) },
	})
	if err != nil {
		panic(err)
	}
	rules := backoff.ExitPolicy{Rules: []backoff.Rule{{Action: backoff.ActionGiveUp, Reasons: []string{"Config"}}}}
	calls := 0
	err = s.Go(context.Background(), "importer", rules, func(context.Context) error {
		if calls++; calls < 3 {
			panic("connection lost")
		}
		return &supervise.ExitError{Code: 78, Reason: "Config", Err: errors.New("no such table")}
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Wait())
	// Output:
	// "importer", run 1: panic: connection lost: Restart after 1ms
	// "importer", run 2: panic: connection lost: Restart after 2ms
	// "importer", run 3: no such table: GiveUp
	// supervise: "importer" gave up after 3 runs: no such table
}

// A nested Supervisor restarts as a whole once one of its goroutines has given up.
func Example_tree() {
	parent, err := supervise.New(supervise.Options{
		Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Millisecond, Max: time.Second}, Limit: 1},
	})
	if err != nil {
		panic(err)
	}
	err = parent.Go(context.Background(), "db", backoff.ExitPolicy{}, func(ctx context.Context) error {
		fmt.Println("db starts")
		child, err := supervise.New(supervise.Options{Escalate: true})
		if err != nil {
			return err
		}
		giveUp := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}
		err = child.Go(context.WithoutCancel(ctx), "pinger", giveUp, func(context.Context) error {
			return errors.New("no answer")
		})
		return errors.Join(err, child.Run(ctx))
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(parent.Wait())
	// Output:
	// db starts
	// db starts
	// supervise: "db" gave up after 2 runs: supervise: "pinger" ended after 1 run: no answer
}
