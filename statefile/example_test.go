package statefile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/statefile"
)

// A Restarter is one field of a program's state. Make it before Load, which fills it, and
// keep it in a variable of its own: if the file has null for the field, as after an edit
// by hand, encoding/json sets the pointer in the struct to nil and leaves the Restarter
// as it is.
func Example_restarter() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "state.json")
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))

	type state struct {
		Runs     int
		Restarts *backoff.Restarter[string]
	}
	run := func() error {
		restarts, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Clock: clock})
		if err != nil {
			return err
		}
		s := state{Restarts: restarts}
		if _, err := statefile.Load(path, &s); err != nil {
			return err
		}
		s.Restarts = restarts // also if the file had null
		s.Runs++
		d := restarts.Exited("web", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
		fmt.Println("run", s.Runs, "failures", d.Failures, "wait", d.Delay)
		return statefile.Save(path, s)
	}
	for range 2 {
		if err := run(); err != nil {
			fmt.Println(err)
		}
	}
	edited := []byte(`{"Runs": 2, "Restarts": null}`)
	if err := os.WriteFile(path, edited, 0o600); err != nil {
		fmt.Println(err)
	}
	if err := run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// run 1 failures 1 wait 10s
	// run 2 failures 2 wait 20s
	// run 3 failures 1 wait 10s
}
