package suture

import (
	"errors"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

type EventType int

const (
	EventTypeStopTimeout EventType = iota
	EventTypeServicePanic
	EventTypeServiceTerminate
	EventTypeBackoff
	EventTypeResume
)

type Event interface{ Type() EventType }

type EventStopTimeout struct {
	Supervisor     *Supervisor
	SupervisorName string
	Service        Service
	ServiceName    string
}

type EventServicePanic struct {
	SupervisorName   string
	ServiceName      string
	CurrentFailures  float64
	FailureThreshold float64
	Restarting       bool
	PanicMsg         string
	Stacktrace       string
}

type EventServiceTerminate struct {
	ServiceName string
	Restarting  bool
	Err         error
}

func (EventStopTimeout) Type() EventType      { return EventTypeStopTimeout }
func (EventServicePanic) Type() EventType     { return EventTypeServicePanic }
func (EventServiceTerminate) Type() EventType { return EventTypeServiceTerminate }

func (s *Supervisor) notify(e supervise.Event) {
	restarting := e.Decision.Action == backoff.ActionRestart && e.Decision.Delay == 0
	var p *supervise.PanicError
	switch {
	case e.Decision.Action == "":
	case errors.As(e.Err, &p):
		s.spec.EventHook(EventServicePanic{ServiceName: e.Name, Restarting: restarting, PanicMsg: p.Error(), Stacktrace: string(p.Stack)})
	default:
		s.spec.EventHook(EventServiceTerminate{e.Name, restarting, e.Err})
	}
}
