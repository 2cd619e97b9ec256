package suture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thejerf/suture/v4"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

var errConfig = errors.New("no such table")

type function = func(context.Context) error

// The same program twice: a database and an importer that uses it. Both are restarted when
// they crash; errConfig, and the end of ctx, end the program. The error also says what did
// not stop. README.md counts the lines.

func withSupervise(ctx context.Context, database, importer function, log func(fmt.Stringer)) error {
	s, err := supervise.New(supervise.Options{Escalate: true, Notify: func(e supervise.Event) { log(e) }})
	if err != nil {
		return err
	}
	rules := backoff.ExitPolicy{Rules: backoff.Rules{{Action: backoff.ActionGiveUp, Reasons: []string{"Config"}}}}
	err = errors.Join(
		s.Go(context.WithoutCancel(ctx), "database", rules, database),
		s.Go(context.WithoutCancel(ctx), "importer", rules, func(ctx context.Context) error {
			err := importer(ctx)
			if errors.Is(err, errConfig) {
				return &supervise.ExitError{Code: 78, Reason: "Config", Err: err}
			}
			return err
		}),
	)
	return errors.Join(err, s.Run(ctx))
}

type service struct {
	name  string
	serve function
}

func (s service) String() string { return s.name }

func (s service) Serve(ctx context.Context) error {
	err := s.serve(ctx)
	if errors.Is(err, errConfig) {
		return fmt.Errorf("%w: %w", suture.ErrTerminateSupervisorTree, err)
	}
	return err
}

func withSuture(ctx context.Context, database, importer function, log func(fmt.Stringer)) error {
	s := suture.New("main", suture.Spec{EventHook: func(e suture.Event) { log(e) }})
	s.Add(service{"database", database})
	s.Add(service{"importer", importer})
	err := s.Serve(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	report, _ := s.UnstoppedServiceReport()
	for _, left := range report {
		err = errors.Join(err, fmt.Errorf("%s has not stopped", left.Name))
	}
	return err
}

// Both run the importer as often, return its last error, and report a database that hangs.
// Only supervise delays restarts from the first on, and stops in order.
func TestSameProgram(t *testing.T) {
	for name, c := range map[string]struct {
		program func(context.Context, function, function, func(fmt.Stringer)) error
		took    time.Duration
		stops   string
		hung    string
	}{
		"supervise": {withSupervise, 300 * time.Millisecond, "importer database", `not stopped: "database"`},
		"suture":    {withSuture, 0, "at once", "database has not stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, begin, hang := 0, time.Now(), time.Duration(0)
				database := func(ctx context.Context) error { <-ctx.Done(); time.Sleep(hang); return nil }
				err := c.program(t.Context(), database, func(context.Context) error {
					if calls++; calls < 3 {
						panic("connection lost")
					}
					return errConfig
				}, func(fmt.Stringer) {})
				if took := time.Since(begin); calls != 3 || !errors.Is(err, errConfig) || took != c.took {
					t.Errorf("%d calls in %v: %v", calls, took, err)
				}

				hang = time.Hour
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err = c.program(ctx, database, func(ctx context.Context) error { <-ctx.Done(); return nil }, func(fmt.Stringer) {})
				if err == nil || !strings.Contains(err.Error(), c.hung) {
					t.Errorf("a database that hangs: %v", err)
				}
				time.Sleep(2 * hang)

				var mu sync.Mutex
				stopped := map[string]time.Time{}
				stops := func(name string) function {
					return func(ctx context.Context) error {
						<-ctx.Done()
						mu.Lock()
						stopped[name] = time.Now()
						mu.Unlock()
						time.Sleep(time.Second)
						return nil
					}
				}
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := c.program(ctx, stops("database"), stops("importer"), func(fmt.Stringer) {}); err != nil {
					t.Error(err)
				}
				order := "at once"
				if stopped["importer"].Before(stopped["database"]) {
					order = "importer database"
				}
				if order != c.stops {
					t.Errorf("stopped %s, want %s", order, c.stops)
				}
			})
		})
	}
}
