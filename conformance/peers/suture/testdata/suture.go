// Package suture has the names of github.com/thejerf/suture/v4 that its tests use, over
// supervise.Supervisor. It takes the place of suture's own files while they run.
package suture

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

var (
	ErrDoNotRestart            = errors.New("do not restart")
	ErrTerminateSupervisorTree = errors.New("terminate the tree")
	ErrWrongSupervisor         = errors.New("wrong supervisor")
	ErrTimeout                 = errors.New("timeout")
	ErrSupervisorNotRunning    = errors.New("supervisor not running")
)

type Service interface{ Serve(context.Context) error }

type Spec struct {
	EventHook                func(Event)
	FailureDecay             float64
	FailureThreshold         float64
	FailureBackoff           time.Duration
	Timeout                  time.Duration
	DontPropagateTermination bool
}

const (
	notRunning = iota
	normal
	terminated
)

// A Supervisor makes its supervise.Supervisor in Serve, since services may be added before.
type Supervisor struct {
	Name string
	spec Spec

	getNow       func() time.Time // set by tests; nothing here reads it
	getAfterChan func(time.Duration) <-chan time.Time
	failures     float64 // read by tests; nothing here sets them
	lastFail     time.Time

	m         sync.Mutex
	state     uint8
	id        uint32
	last      uint32
	services  map[uint32]*supervised
	ours      *supervise.Supervisor
	ctx       context.Context
	ctxCancel func()
	running   chan struct{} // closed by Serve
	done      chan struct{} // closed at its end
	unstopped UnstoppedServiceReport
}

type supervised struct {
	service Service
	name    string
}

type ServiceToken struct{ supervisor, service uint32 }

type UnstoppedService struct {
	SupervisorPath []*Supervisor
	Service        Service
	Name           string
	ServiceToken   ServiceToken
}

type UnstoppedServiceReport []UnstoppedService

var supervisors atomic.Uint32

func NewSimple(name string) *Supervisor { return New(name, Spec{}) }

func New(name string, spec Spec) *Supervisor {
	if spec.EventHook == nil {
		spec.EventHook = func(e Event) { log.Print(e) }
	}
	if spec.FailureDecay == 0 {
		spec.FailureDecay = 30
	}
	if spec.FailureThreshold == 0 {
		spec.FailureThreshold = 5
	}
	if spec.FailureBackoff == 0 {
		spec.FailureBackoff = 15 * time.Second
	}
	if spec.Timeout == 0 {
		spec.Timeout = 10 * time.Second
	}
	return &Supervisor{
		Name: name, spec: spec, getNow: time.Now, getAfterChan: time.After, id: supervisors.Add(1),
		services: map[uint32]*supervised{}, running: make(chan struct{}), done: make(chan struct{}),
	}
}

func (s *Supervisor) String() string { return s.Name }

func (s *Supervisor) Add(service Service) ServiceToken {
	if s == nil {
		panic("Add to a nil *suture.Supervisor")
	}
	if child, ok := service.(*Supervisor); ok && child != nil {
		child.spec.EventHook = s.spec.EventHook
	}
	s.m.Lock()
	defer s.m.Unlock()
	if s.state == terminated || s.ctx != nil && s.ctx.Err() != nil {
		return ServiceToken{}
	}
	name := fmt.Sprintf("%#v", service)
	if named, ok := service.(fmt.Stringer); ok {
		name = named.String()
	}
	id := s.last
	s.last++
	s.services[id] = &supervised{service, name}
	if s.state == normal {
		s.start(id)
	}
	return ServiceToken{s.id, id}
}

// The reason of a service that ends its tree.
const terminates = "TerminateTree"

var rules = backoff.ExitPolicy{Rules: backoff.Rules{{Action: backoff.ActionGiveUp, Reasons: []string{terminates}}}}

func (s *Supervisor) start(id uint32) {
	service := s.services[id].service
	ctx, cancel := context.WithCancel(context.Background())
	err := s.ours.Go(ctx, strconv.Itoa(int(id)), rules, func(ctx context.Context) error {
		err := service.Serve(ctx)
		if errors.Is(err, ErrDoNotRestart) {
			s.forget(id)
			cancel()
		}
		if errors.Is(err, ErrTerminateSupervisorTree) {
			return &supervise.ExitError{Code: 1, Reason: terminates, Err: err}
		}
		return err
	})
	if err != nil {
		log.Print(err)
	}
}

func (s *Supervisor) forget(id uint32) {
	s.m.Lock()
	defer s.m.Unlock()
	delete(s.services, id)
}

func (s *Supervisor) Serve(ctx context.Context) error {
	if s == nil {
		panic("Serve with a nil *suture.Supervisor")
	}
	if s.id == 0 {
		panic("Serve of a Supervisor that New did not make")
	}
	if ctx == nil {
		ctx = context.Background()
	}
	s.begin(ctx)
	err := s.ours.Run(s.ctx)
	s.finish()
	switch {
	case !errors.Is(err, ErrTerminateSupervisorTree):
		return s.ctx.Err()
	case s.spec.DontPropagateTermination:
		return ErrDoNotRestart
	}
	return ErrTerminateSupervisorTree
}

const keeper = "keeper" // keeps a Supervisor without services running

func (s *Supervisor) begin(ctx context.Context) {
	s.m.Lock()
	defer s.m.Unlock()
	if s.state == normal {
		panic("Serve of a Supervisor that is running")
	}
	var err error
	s.ours, err = supervise.New(supervise.Options{
		// As many restarts at once as suture allows, and then its pause.
		Policy: backoff.Policy{
			Initial: s.spec.FailureBackoff, Max: s.spec.FailureBackoff, FreeFailures: int(s.spec.FailureThreshold),
			ResetAfter: time.Duration(s.spec.FailureDecay * float64(time.Second)),
		},
		StopTimeout: s.spec.Timeout,
		Escalate:    true,
		Clock:       &afterClock{s: s},
		Notify:      s.notify,
	})
	if err == nil {
		err = s.ours.Go(context.Background(), keeper, rules, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}
	if err != nil {
		panic(err)
	}
	s.ctx, s.ctxCancel = context.WithCancel(ctx)
	s.state = normal
	var ids []int
	for id := range s.services {
		ids = append(ids, int(id))
	}
	sort.Ints(ids)
	for _, id := range ids {
		s.start(uint32(id))
	}
	close(s.running)
}

func (s *Supervisor) finish() {
	s.m.Lock()
	defer s.m.Unlock()
	for key := range s.ours.All() {
		id, _ := strconv.Atoi(key)
		if it := s.services[uint32(id)]; it != nil && key != keeper {
			s.unstopped = append(s.unstopped, UnstoppedService{[]*Supervisor{s}, it.service, it.name, ServiceToken{s.id, uint32(id)}})
			s.spec.EventHook(EventStopTimeout{s, s.Name, it.service, it.name})
		}
	}
	s.ctxCancel()
	s.state = terminated
	close(s.done)
}

func (s *Supervisor) ServeBackground(ctx context.Context) <-chan error {
	result := make(chan error, 1)
	go func() { result <- s.Serve(ctx) }()
	s.sync()
	return result
}

func (s *Supervisor) sync() { <-s.running }

type syncSupervisor struct{}

func (s *Supervisor) sendControl(syncSupervisor) error {
	<-s.running
	if s.ctx.Err() == nil {
		return nil
	}
	<-s.done
	return ErrSupervisorNotRunning
}

func (s *Supervisor) Services() []Service {
	if s.sendControl(syncSupervisor{}) != nil {
		return nil
	}
	s.m.Lock()
	defer s.m.Unlock()
	var services []Service
	for _, it := range s.services {
		services = append(services, it.service)
	}
	return services
}

func (s *Supervisor) UnstoppedServiceReport() (UnstoppedServiceReport, error) {
	<-s.done
	return s.unstopped, nil
}

func (s *Supervisor) Remove(token ServiceToken) error {
	if token.supervisor != s.id {
		return ErrWrongSupervisor
	}
	<-s.running
	s.m.Lock()
	it := s.services[token.service]
	delete(s.services, token.service)
	s.m.Unlock()
	if it == nil {
		return nil
	}
	go func() {
		if err := s.ours.Remove(context.Background(), strconv.Itoa(int(token.service))); err != nil {
			s.spec.EventHook(EventStopTimeout{s, s.Name, it.service, it.name})
		}
	}()
	return nil
}

func (s *Supervisor) RemoveAndWait(token ServiceToken, timeout time.Duration) error {
	if token.supervisor != s.id {
		return ErrWrongSupervisor
	}
	ctx := s.ctx
	if ctx.Err() != nil {
		return ErrSupervisorNotRunning
	}
	if timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	defer s.forget(token.service)
	for s.has(token.service) {
		_ = s.ours.Remove(ctx, strconv.Itoa(int(token.service)))
		switch {
		case s.ctx.Err() != nil:
			return ErrSupervisorNotRunning
		case ctx.Err() != nil && s.has(token.service):
			return ErrTimeout
		}
	}
	return nil
}

func (s *Supervisor) has(id uint32) bool {
	for name := range s.ours.All() {
		if name == strconv.Itoa(int(id)) {
			return true
		}
	}
	return false
}

type NoJitter struct{}

func (NoJitter) Jitter(d time.Duration) time.Duration { return d }

type DeprecatedService interface {
	Serve()
	Stop()
}

func AsService(old DeprecatedService) Service { return shim{old} }

type shim struct{ old DeprecatedService }

func (s shim) Serve(ctx context.Context) error {
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.old.Serve()
	}()
	select {
	case <-served:
		return nil
	case <-ctx.Done():
		s.old.Stop()
		<-served
		return ctx.Err()
	}
}
