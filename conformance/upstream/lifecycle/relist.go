package lifecycle

import (
	"context"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/pleg"
)

// Relist makes one full relist and returns when its events are delivered or the
// delivery waits for room. Only the kubelet's tests use it.
//
// A loop over Events cannot report that it has caught up. Relist therefore makes a
// second relist without asking the runtime, listing the same pods and an echo, which is
// a new pod. When the echo's event arrives, all earlier events have been delivered.
func (g *Generator) Relist(ctx context.Context) {
	if _, began := g.begin(context.WithoutCancel(ctx)); began {
		g.awaitEcho(ctx) // the loop has begun
	}
	if g.generator.Relist(ctx) == nil {
		g.awaitEcho(ctx)
	}
}

func (g *Generator) awaitEcho(ctx context.Context) {
	g.mu.Lock()
	g.echoes++
	id := types.UID(echoPrefix + strconv.Itoa(g.echoes))
	g.mu.Unlock()
	select {
	case <-g.full:
	default:
	}
	g.runtime.setEcho(id)
	err := g.generator.Relist(ctx)
	g.runtime.setEcho("")
	for err == nil { // otherwise no echo will come
		select {
		case seen := <-g.echo: // the last echo is removed when the next comes
			if seen == id {
				return
			}
		case <-g.full:
			return
		case <-ctx.Done():
			return
		}
	}
}

const echoPrefix = "echo of a relist " // no UID has spaces

func isEcho(id types.UID) bool { return strings.HasPrefix(string(id), echoPrefix) }

func (r *runtime) setEcho(id types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.echo = id
}

// echoed returns the pods to list with an echo, if one is set.
func (r *runtime) echoed() ([]pleg.Pod[types.UID], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.echo == "" {
		return nil, false
	}
	pods := []pleg.Pod[types.UID]{echoPod(r.echo)}
	for _, pod := range r.listed {
		pods = append(pods, plegPod(pod))
	}
	return pods, true
}

// echoPod returns the pod of an echo.
func echoPod(id types.UID) pleg.Pod[types.UID] {
	return pleg.Pod[types.UID]{ID: id, Containers: []pleg.Container{{ID: "echo", State: pleg.StateRunning}}}
}
