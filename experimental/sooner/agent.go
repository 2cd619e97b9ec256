package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
	"github.com/restartkit/restart/kube/restartrules"
)

// agent observes the node, decides by a decide.State and carries out its plans. One
// goroutine calls turn. Requests to the API server have goroutines of their own.
type agent struct {
	node       *node
	cluster    *cluster            // nil without an API server
	synced     func() bool         // the cluster's pods are known
	manifests  *manifests          // nil without static pods
	rules      *restartrules.Rules // of all pods, or nil
	namespaces []string            // whose static pods may have rules; none means all
	dryRun     bool
	say        func(string) // a line of --dry-run
	log        *slog.Logger
	metrics    *metrics
	health     *health
	clock      clock.Clock
	began      time.Time

	state       *decide.State
	last        *look                  // the last one, nil before the first
	full        time.Time              // of the last look at all pods
	polled      time.Time              // when the exited containers were listed
	lastReached time.Time              // when the runtime last answered reach
	awaits      bool                   // the state awaits a step
	ending      bool                   // all waits
	replaced    bool                   // manifests, since the last look
	manifestOf  map[string]*corev1.Pod // manifests with which static pods were first seen, by UID
	details     map[string]detail
	images      map[string]*cri.ImageSpec // by container
	verdicts    map[string]verdict        // last ones, by record
	told        map[string]*telling       // about annotations, by pod
	requests    sync.WaitGroup
	slots       chan struct{} // limits the requests under way
}

// telling is the creation of an Event about an annotation.
type telling struct {
	note  note
	done  atomic.Bool
	next  time.Time // of the next try, when a former request has ended
	pause time.Duration
}

var errNotListed = errors.New("the API server has not listed the pods of this node yet")

// verdict is the reason of a decide.Verdict, with the UID of the pod.
type verdict struct {
	pod    string
	reason decide.Reason
}

func newAgent(n *node, log *slog.Logger, m *metrics, l decide.Limits) *agent {
	c := clock.RealClock{}
	h := newHealth(c)
	h.set(partPods, errNotListed) // until the first turn
	return &agent{
		node: n, log: log, metrics: m, health: h, clock: c, began: c.Now(), synced: func() bool { return true },
		state: decide.NewState(l), details: map[string]detail{}, images: map[string]*cri.ImageSpec{},
		verdicts: map[string]verdict{}, told: map[string]*telling{},
		slots: make(chan struct{}, 16),
	}
}

// run takes turns until ctx is done.
func (a *agent) run(ctx context.Context, wake <-chan struct{}, now <-chan os.Signal) {
	defer a.requests.Wait()
	wait, failures := time.Duration(0), 0
	for {
		timer := a.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		case <-wake:
			timer.Stop()
		case <-now:
			timer.Stop()
			a.log.Info("ending all waits")
			a.ending = true
		}
		a.health.progress()
		again, err := a.turn(ctx)
		switch {
		case err == nil:
			failures = 0
			a.health.set(partRuntime, nil)
			wait = decide.Poll
			if again {
				wait = 0
			}
		case ctx.Err() == nil:
			failures++
			wait = min(decide.Poll<<min(failures, 5), 10*time.Second)
			a.health.set(partRuntime, err)
			a.metrics.errors.WithLabelValues("runtime").Inc()
			a.log.Error("the container runtime does not answer", "err", err, "retry", wait)
			a.sleep(ctx, wait) // also if woken
			wait = 0
		}
	}
}

func (a *agent) sleep(ctx context.Context, d time.Duration) {
	timer := a.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// verifyNode asks the API server until it is known whether the node has the right name.
// Until then, and as long as the name is wrong, the program is not ready.
func (a *agent) verifyNode(ctx context.Context) {
	const again = 30 * time.Second // a node may join the cluster later
	a.health.set(partNode, errors.New("not verified yet"))
	for said := ""; ; a.sleep(ctx, again) {
		_, err := a.cluster.verifyNode(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			a.health.set(partNode, nil)
			return
		case errors.Is(err, errNodeUnknown):
			a.health.set(partNode, nil)
			a.log.Warn("not verified whether this node has the right name", "node", a.cluster.node, "err", err)
			return
		}
		a.health.set(partNode, err)
		if err.Error() == said {
			continue
		}
		said = err.Error()
		if errors.Is(err, errWrongNode) {
			a.log.Error("restarts no pods of the API server", "node", a.cluster.node, "err", err)
		} else {
			a.failed("verify node", err, "node", a.cluster.node)
		}
	}
}

// turn looks at the pods with rules, if there are any.
// It reports whether the next turn should follow at once.
func (a *agent) turn(ctx context.Context) (again bool, err error) {
	l := &look{pods: a.pods()}
	var changed bool
	if l.static, changed, err = a.manifests.read(); err != nil {
		a.metrics.errors.WithLabelValues("manifests").Inc()
		a.log.Error("reading the manifests of static pods", "err", err)
	}
	a.replaced = a.replaced || changed
	a.tell(ctx, l.pods)
	if a.synced() {
		a.health.set(partPods, nil)
	} else {
		a.health.set(partPods, errNotListed)
		if a.manifests == nil { // static pods do not wait
			return false, a.reach(ctx)
		}
	}
	for uid, p := range l.pods {
		a.state.Meet(uid, p.Now)
	}
	a.state.Forget(func(uid string) bool { return l.pods[uid] != nil }) // static pods have no such value
	if a.last != nil && !a.awaits && len(l.static) == 0 && !l.optedIn() {
		a.ending = false // nothing waits
		return false, a.reach(ctx)
	}
	if err := a.poll(ctx, l); err != nil {
		return false, err
	}
	if !a.wants(l) {
		return false, nil
	}
	plan, err := a.look(ctx, l)
	if err != nil {
		return false, err
	}
	a.last, a.awaits, a.ending, a.replaced = l, plan.Next > 0, false, false
	a.report(plan, l)
	if a.dryRun {
		return false, nil
	}
	return a.carryOut(ctx, plan, l.pods), nil
}

// reach asks the runtime for its version, at most every reachEvery, so that it is known to
// answer while nothing is looked at.
func (a *agent) reach(ctx context.Context) error {
	if a.clock.Since(a.lastReached) < reachEvery {
		return nil
	}
	if _, err := a.node.version(ctx); err != nil {
		return err
	}
	a.lastReached = a.clock.Now()
	return nil
}

// pods returns the pods by UID.
func (a *agent) pods() map[string]*pod {
	if a.cluster == nil {
		return make(map[string]*pod)
	}
	return a.cluster.list()
}

// report logs and counts new verdicts.
func (a *agent) report(plan decide.Plan, l *look) {
	last := maps.Clone(a.verdicts)
	maps.DeleteFunc(a.verdicts, func(_ string, v verdict) bool { return l.lists(v.pod) })
	for _, v := range plan.Verdicts {
		old, ok := last[v.Record.ID]
		if v.Reason == decide.ReasonRetry && a.dryRun && ok {
			v.Reason = old.reason
		}
		a.verdicts[v.Record.ID] = verdict{v.Record.Pod, v.Reason}
		if ok && old.reason == v.Reason {
			continue
		}
		p := l.pods[v.Record.Pod]
		if v.Reason != decide.ReasonDue && v.Reason != decide.ReasonWaiting {
			a.metrics.refused.WithLabelValues(string(v.Reason)).Inc()
		}
		if !a.dryRun {
			a.log.Debug("exited container", "pod", p, "container", v.Record.Name, "code", v.Record.Code, "verdict", v.Reason, "wait", v.Wait)
			continue
		}
		line := fmt.Sprintf("%s %s: exit code %d, restart %d: ", p, v.Record.Name, v.Record.Code, v.Record.RestartCount+1)
		switch v.Reason {
		case decide.ReasonDue:
			line += "would start it now"
		case decide.ReasonWaiting:
			line += fmt.Sprintf("would start it in %v", v.Wait.Round(time.Millisecond))
		case decide.ReasonBudget:
			line += fmt.Sprintf("would wait %v, because the restarts per minute are used up", v.Wait.Round(time.Millisecond))
		case decide.ReasonNotShown, decide.ReasonUnread:
			line += "would wait (" + string(v.Reason) + ")"
		default:
			line += "would leave it to the kubelet (" + string(v.Reason) + ")"
		}
		a.say(line)
	}
}

// carryOut carries out a plan and reports whether the node has changed. Each change may last as
// long as its deadline, and there may be many, so each is noted as progress.
func (a *agent) carryOut(ctx context.Context, plan decide.Plan, known map[string]*pod) (changed bool) {
	for _, id := range plan.Unpoke {
		a.health.progress()
		if err := a.node.remove(ctx, id); err != nil {
			a.failed("unpoke", err, "record", id)
		}
	}
	for _, r := range plan.Remove {
		p := known[r.Pod]
		path := a.details[r.ID].log
		a.health.progress()
		if err := a.node.remove(ctx, r.ID); err != nil {
			a.failed("remove", err, "pod", p, "container", r.Name)
			continue
		}
		changed = true
		a.metrics.removed.Inc()
		a.log.Info("removed", "pod", p, "container", r.Name, "code", r.Code, "restart", r.RestartCount+1, "after", a.clock.Since(r.Finished).Round(time.Millisecond))
		n, err := prune(path, p.folder(), r.Name)
		a.metrics.pruned.Add(float64(n))
		if err != nil {
			a.failed("prune", err, "pod", p, "container", r.Name)
		}
	}
	for _, poke := range plan.Poke {
		p := known[poke.Pod]
		image := a.images[poke.Pod+"/"+poke.Container]
		if !poke.ByRecord || image == nil && !p.Static {
			a.request("poke", p, func() error { return a.cluster.poke(ctx, p, a.clock.Now()) })
			continue
		}
		a.health.progress()
		if err := a.node.poke(ctx, poke.Sandbox, image, a.clock.Now()); err != nil {
			a.failed("poke", err, "pod", p)
			continue
		}
		a.metrics.poked.Inc()
	}
	return changed
}

// request makes a request to the API server in the background. With too many under way,
// it fails at once, and the next step repeats it.
func (a *agent) request(what string, p *pod, f func() error) {
	select {
	case a.slots <- struct{}{}:
	default:
		a.failed(what, errors.New("too many requests under way"), "pod", p)
		return
	}
	a.requests.Go(func() {
		defer func() { <-a.slots }()
		if err := f(); err != nil {
			a.failed(what, err, "pod", p)
		} else if what == "poke" {
			a.metrics.poked.Inc()
		}
	})
}

func (a *agent) failed(what string, err error, about ...any) {
	a.metrics.errors.WithLabelValues(what).Inc()
	a.log.Error(what+" failed", append(about, "err", err)...)
}

// tell creates an Event for the mistakes in each annotation, and tries again later if
// that fails.
func (a *agent) tell(ctx context.Context, pods map[string]*pod) {
	known := make(map[string]bool)
	for _, p := range pods {
		if p.note == (note{}) {
			continue
		}
		known[p.UID] = true
		t := a.told[p.UID]
		if t == nil || t.note != p.note {
			t = &telling{note: p.note, pause: time.Second}
			a.told[p.UID] = t
			a.log.Warn("wrong annotation", "pod", p, "reason", p.note.reason, "err", p.note.text)
		}
		now := a.clock.Now()
		if a.dryRun || t.done.Load() || now.Before(t.next) {
			continue
		}
		t.next, t.pause = now.Add(requestTimeout+t.pause), min(2*t.pause, time.Minute)
		a.request("event", p, func() error {
			err := a.cluster.event(ctx, p, now)
			t.done.Store(err == nil)
			return err
		})
	}
	maps.DeleteFunc(a.told, func(uid string, _ *telling) bool { return !known[uid] })
}
