package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
)

type containerStatus = cri.ContainerStatus

// A task tracks a container across its attempts, with the last attempt and the pending
// action.
type task struct {
	key     key
	sandbox string

	container string // id of the last attempt
	attempt   uint32
	state     pleg.State
	started   time.Time // start of the last started attempt
	seen      bool      // by this run; a restored task may be out of date
	gone      bool      // from the runtime
	lost      bool      // in an unknown state and must be stopped

	exit     backoff.Exit     // the last one decided on
	decided  string           // id of the container with this exit
	decision backoff.Decision // on exit; zero once the next attempt has begun
	pending  bool             // the next attempt must be started
	busy     bool             // a start is under way
	retry    time.Time        // earliest start after a refusal
	trouble  string           // why it was not started, in a word

	printed row
}

// precedes reports whether c is an attempt after the last one of t. Both are in the
// same sandbox.
func (t *task) precedes(c *containerStatus) bool {
	attempt := c.GetMetadata().GetAttempt()
	return t.container == "" || attempt > t.attempt || attempt == t.attempt && t.container != c.Id && t.state == pleg.StateExited
}

// show records the state of the last attempt. A container's state never goes back.
func (t *task) show(container string, attempt uint32, state pleg.State, started time.Time) {
	if container != t.container {
		t.container, t.attempt, t.state, t.lost = container, attempt, state, false
	}
	t.state = max(t.state, state)
	if t.container != t.decided && !t.created() { // the next attempt has begun
		t.decision, t.pending, t.trouble, t.retry = backoff.Decision{}, false, "", time.Time{}
	}
	if !started.IsZero() {
		t.started = started
	}
}

// created reports whether the last attempt follows the exit decided on and is not
// started yet. Its creator may have ended before starting it.
func (t *task) created() bool {
	return t.decided != "" && t.attempt == t.exited()+1 && t.state <= pleg.StateCreated
}

// exited returns the attempt whose exit was decided on last.
func (t *task) exited() uint32 { return uint32(t.exit.Run - 1) }

// decide records the decision on the exit of the last attempt, or of the one before if
// the last attempt is only created.
func (t *task) decide(container string, e backoff.Exit, d backoff.Decision) {
	t.exit, t.decided, t.decision = e, container, d
	t.pending, t.trouble, t.retry = d.Action == backoff.ActionRestart, "", time.Time{}
}

// row returns the task's line of the table. left is the remaining wait.
func (t *task) row(now time.Time, left time.Duration) row {
	r := row{key: t.key, container: t.container, restarts: t.attempt, state: t.word(), exit: "-"}
	if !t.started.IsZero() {
		r.ago = now.Sub(t.started)
	}
	if t.decided != "" {
		r.code, r.reason, r.finished = &t.exit.Code, t.exit.Reason, t.exit.Finished
		r.exit = fmt.Sprint(t.exit.Code)
		if t.exit.Reason != "" && t.exit.Reason != "Completed" && t.exit.Reason != "Error" {
			r.exit += " (" + t.exit.Reason + ")"
		}
	}
	if t.pending && !t.gone {
		r.next, r.in, r.failures = t.decision.NotBefore, left, t.decision.Failures
	}
	return r
}

// word returns the STATE column, in kubectl's word if it has one. It is empty if the
// task is about to change.
func (t *task) word() string {
	switch {
	case t.gone:
		return "Removed"
	case t.trouble != "":
		return t.trouble
	case t.busy && t.created():
		return ""
	case t.pending:
		return "CrashLoopBackOff"
	case t.state == pleg.StateRunning:
		return "Running"
	case t.state != pleg.StateExited:
		return "ContainerCreating"
	case t.decision.Action == backoff.ActionGiveUp:
		return "GivenUp"
	case t.decision.Action == "":
		return "" // its exit is still to come
	case t.exit.Reason != "" && !strings.ContainsAny(t.exit.Reason, " \t\n"):
		return t.exit.Reason
	case t.exit.Code == 0:
		return "Completed"
	}
	return "Error"
}

// failureWord names the reason why a container was not started, in kubectl's word if it
// has one.
func failureWord(err error) string {
	switch {
	case errors.Is(err, errSuperseded), errors.Is(err, errGone):
		return "" // the row of the other attempt or the removal shows it
	case errors.Is(err, errNotReady):
		return "SandboxNotReady"
	case errors.Is(err, errNoConfig):
		return "NoConfig"
	case grpcstatus.Code(err) == codes.Unavailable:
		return "RuntimeUnavailable"
	case strings.HasPrefix(err.Error(), "StartContainer"):
		return "RunContainerError"
	}
	return "CreateContainerError"
}
