package main

import "github.com/restartkit/restart/examples/internal/process"

// exit is how a process ended, under this run or another.
type exit = process.Record

func exitOf(p *process.Process) exit {
	e := p.Wait()
	return exit{Code: e.Code, Signal: int(e.Signal), Began: p.Began, At: e.At}
}
