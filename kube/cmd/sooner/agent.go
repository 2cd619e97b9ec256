package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/kube/cmd/sooner/internal/decide"
)

// agent observes the node, decides by a decide.State and carries out its plans. One
// goroutine calls turn. Requests to the API server have goroutines of their own.
type agent struct {
	node      *node
	cluster   *cluster    // nil without an API server
	synced    func() bool // the cluster's pods are known
	manifests *manifests  // nil without static pods
	rules     *decide.Rules
	dryRun    bool
	say       func(string) // a line of -dry-run
	log       *slog.Logger
	metrics   *metrics
	began     time.Time

	state    *decide.State
	swept    bool // the first full look was made, which finds records left by a former agent
	looked   map[string]bool
	version  int
	next     time.Time // of the next full look; zero if only a change calls for one
	ending   bool      // all waits
	details  map[string]detail
	images   map[string]*cri.ImageSpec // by container of a static pod
	verdicts map[string]decide.Reason  // last ones, by record
	mistakes map[string]*mistake       // in annotations, by pod
	requests sync.WaitGroup
	slots    chan struct{} // limits the requests under way
}

// mistake is an annotation about which an Event is created.
type mistake struct {
	text  string
	told  atomic.Bool
	next  time.Time // of the next try, when a former request has ended
	pause time.Duration
}

// detail is the status of an exited container, and the path of its log.
type detail struct {
	record decide.Record
	log    string
	failed bool // the runtime cannot tell the status
}

func newAgent(n *node, log *slog.Logger, m *metrics) *agent {
	return &agent{
		node: n, log: log, metrics: m, began: time.Now(), synced: func() bool { return true },
		state: decide.NewState(), looked: map[string]bool{}, version: -1, details: map[string]detail{},
		images: map[string]*cri.ImageSpec{}, verdicts: map[string]decide.Reason{}, mistakes: map[string]*mistake{},
		slots: make(chan struct{}, 16),
	}
}

// run takes turns until ctx is done.
func (a *agent) run(ctx context.Context, wake <-chan struct{}, now <-chan os.Signal) {
	defer a.requests.Wait()
	wait, failures := time.Duration(0), 0
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-wake:
			timer.Stop()
		case <-now:
			timer.Stop()
			a.log.Info("ending all waits")
			a.ending = true
		}
		again, err := a.turn(ctx)
		switch {
		case err == nil:
			failures = 0
			wait = decide.Poll
			if again {
				wait = 0
			}
		case ctx.Err() == nil:
			failures++
			wait = min(decide.Poll<<min(failures, 5), 10*time.Second)
			a.metrics.errors.WithLabelValues("runtime").Inc()
			a.log.Error("the container runtime does not answer", "err", err, "retry", wait)
			sleep(ctx, wait) // also if woken
			wait = 0
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// turn looks at the exited containers and, if anything matters, at the whole node. It
// reports whether the next turn should follow at once.
func (a *agent) turn(ctx context.Context) (again bool, err error) {
	pods, version := a.pods()
	static, changed, err := a.manifests.read()
	if err != nil {
		a.metrics.errors.WithLabelValues("manifests").Inc()
		a.log.Error("reading the manifests of static pods", "err", err)
	}
	if changed {
		a.version = -1 // calls for a look
	}
	a.tellMistakes(ctx, pods)
	if !a.synced() {
		return false, nil
	}
	if a.swept && a.next.IsZero() && len(static) == 0 && !slices.ContainsFunc(pods, (*pod).watched) {
		a.ending = false // nothing waits
		return false, nil
	}
	exited, err := a.node.exited(ctx)
	if err != nil {
		return false, err
	}
	ids := make(map[string]bool, len(exited))
	for _, c := range exited {
		ids[c.Id] = true
	}
	due := !a.next.IsZero() && !time.Now().Before(a.next)
	if a.swept && !due && !a.ending && version == a.version && maps.Equal(ids, a.looked) {
		return false, nil
	}
	plan, known, err := a.look(ctx, pods, static)
	if err != nil {
		return false, err
	}
	a.swept, a.looked, a.version, a.ending, a.next = true, ids, version, false, time.Time{}
	if plan.Next > 0 {
		a.next = time.Now().Add(plan.Next)
	}
	a.report(plan, known)
	if a.dryRun {
		return false, nil
	}
	return a.carryOut(ctx, plan, known), nil
}

func (a *agent) pods() ([]*pod, int) {
	if a.cluster == nil {
		return nil, 0
	}
	return a.cluster.list()
}

// look lists everything and decides.
func (a *agent) look(ctx context.Context, pods []*pod, static map[string]*corev1.Pod) (decide.Plan, map[string]*pod, error) {
	boxes, err := a.node.sandboxes(ctx)
	if err != nil {
		return decide.Plan{}, nil, err
	}
	containers, err := a.node.containers(ctx, nil)
	if err != nil {
		return decide.Plan{}, nil, err
	}
	known := make(map[string]*pod)
	for _, p := range pods {
		known[p.UID] = p
	}
	o := decide.Observation{Now: time.Now().Round(0), Elapsed: time.Since(a.began), End: a.ending}
	for _, b := range boxes {
		uid := b.Labels[labelPodUID]
		o.Sandboxes = append(o.Sandboxes, decide.Sandbox{
			ID: b.Id, Pod: uid, Created: time.Unix(0, b.CreatedAt), Ready: b.State == cri.PodSandboxState_SANDBOX_READY,
		})
		if p := static[b.Labels[labelPodNamespace]+"/"+b.Labels[labelPodName]]; p != nil && known[uid] == nil {
			known[uid] = newStaticPod(p, a.rules, uid)
		}
	}
	if o.Records, err = a.records(ctx, containers, known); err != nil {
		return decide.Plan{}, nil, err
	}
	for _, p := range known {
		o.Pods = append(o.Pods, p.Pod)
	}
	return a.state.Step(o), known, nil
}

// records converts containers, with the statuses of exited ones of watched pods.
func (a *agent) records(ctx context.Context, containers []*cri.Container, known map[string]*pod) ([]decide.Record, error) {
	var records []decide.Record
	seen := make(map[string]bool)
	for _, c := range containers {
		r := decide.Record{
			ID: c.Id, Sandbox: c.PodSandboxId, Pod: c.Labels[labelPodUID], Name: c.Labels[labelContainer],
			State: stateOf(c.State), Created: time.Unix(0, c.CreatedAt),
		}
		if p := known[r.Pod]; r.State == decide.Exited && p != nil && p.watched() {
			d, ok := a.details[c.Id]
			if !ok || !d.record.Created.Equal(r.Created) || !d.record.Detailed {
				told := d.failed
				var err error
				if d, err = a.detail(ctx, r); silent(err) {
					return nil, err
				}
				if d.failed = err != nil; d.failed && !told {
					a.failed("status", err, "pod", p, "container", r.Name)
				}
			}
			a.details[c.Id] = d
			seen[c.Id] = true
			if d.record.Detailed {
				r = d.record
				r.NextCount = nextCount(d.log)
			}
			if p.Static {
				a.images[r.Pod+"/"+r.Name] = c.Image
			}
		}
		records = append(records, r)
	}
	maps.DeleteFunc(a.details, func(id string, _ detail) bool { return !seen[id] })
	maps.DeleteFunc(a.images, func(container string, _ *cri.ImageSpec) bool {
		uid, _, _ := strings.Cut(container, "/")
		return known[uid] == nil
	})
	return records, nil
}

func stateOf(s cri.ContainerState) decide.RecordState {
	switch s {
	case cri.ContainerState_CONTAINER_CREATED:
		return decide.Created
	case cri.ContainerState_CONTAINER_RUNNING:
		return decide.Running
	case cri.ContainerState_CONTAINER_EXITED:
		return decide.Exited
	}
	return decide.Unknown
}

// detail reads the status of an exited container. It is not Detailed if the container is
// gone, runs again, or is another one with the same id.
func (a *agent) detail(ctx context.Context, r decide.Record) (detail, error) {
	s, err := a.node.status(ctx, r.ID)
	if err != nil || s == nil || s.State != cri.ContainerState_CONTAINER_EXITED || s.CreatedAt != r.Created.UnixNano() {
		return detail{}, err
	}
	count, err := strconv.ParseInt(s.Annotations[annotationCount], 10, 32)
	if err != nil {
		return detail{}, nil // not the kubelet's
	}
	r.Detailed, r.Code, r.Reason, r.RestartCount = true, s.ExitCode, s.Reason, count
	if s.FinishedAt > 0 {
		r.Finished = time.Unix(0, s.FinishedAt)
	}
	if s.StartedAt > 0 {
		r.Started = time.Unix(0, s.StartedAt)
	}
	return detail{record: r, log: s.LogPath}, nil
}

// report logs and counts verdicts that are new.
func (a *agent) report(plan decide.Plan, known map[string]*pod) {
	last := a.verdicts
	a.verdicts = make(map[string]decide.Reason)
	for _, v := range plan.Verdicts {
		old, ok := last[v.Record.ID]
		if v.Reason == decide.ReasonRetry && a.dryRun && ok {
			v.Reason = old
		}
		a.verdicts[v.Record.ID] = v.Reason
		if ok && old == v.Reason {
			continue
		}
		p := known[v.Record.Pod]
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
		case decide.ReasonNotShown, decide.ReasonUnread:
			line += "would wait (" + string(v.Reason) + ")"
		default:
			line += "would leave it to the kubelet (" + string(v.Reason) + ")"
		}
		a.say(line)
	}
}

// carryOut carries out a plan and reports whether the node has changed.
func (a *agent) carryOut(ctx context.Context, plan decide.Plan, known map[string]*pod) (changed bool) {
	for _, id := range plan.Unpoke {
		if err := a.node.remove(ctx, id); err != nil {
			a.failed("unpoke", err, "record", id)
		}
	}
	for _, r := range plan.Remove {
		p := known[r.Pod]
		path := a.details[r.ID].log
		if err := a.node.remove(ctx, r.ID); err != nil {
			a.failed("remove", err, "pod", p, "container", r.Name)
			continue
		}
		changed = true
		a.metrics.removed.Inc()
		a.log.Info("removed", "pod", p, "container", r.Name, "code", r.Code, "restart", r.RestartCount+1, "after", time.Since(r.Finished).Round(time.Millisecond))
		n, err := prune(path, p.folder(), r.Name)
		a.metrics.pruned.Add(float64(n))
		if err != nil {
			a.failed("prune", err, "pod", p, "container", r.Name)
		}
	}
	for _, poke := range plan.Poke {
		p := known[poke.Pod]
		if !poke.Static {
			a.request("poke", p, func() error { return a.cluster.poke(ctx, p, time.Now()) })
			continue
		}
		image := a.images[poke.Pod+"/"+poke.Container]
		if err := a.node.poke(ctx, poke.Sandbox, image); err != nil {
			a.failed("poke", err, "pod", p)
			continue
		}
		a.metrics.poked.Inc()
		if seen := time.Now().Add(decide.Settle); a.next.IsZero() || seen.Before(a.next) {
			a.next = seen // to remove the record
		}
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

// tellMistakes creates an Event for each mistake in an annotation, and tries again later
// if that fails.
func (a *agent) tellMistakes(ctx context.Context, pods []*pod) {
	known := make(map[string]bool)
	for _, p := range pods {
		if p.invalid == nil {
			continue
		}
		known[p.UID] = true
		m := a.mistakes[p.UID]
		if m == nil || m.text != p.text {
			m = &mistake{text: p.text, pause: time.Second}
			a.mistakes[p.UID] = m
			a.log.Warn("left to the kubelet", "pod", p, "err", p.invalid)
		}
		now := time.Now()
		if a.dryRun || m.told.Load() || now.Before(m.next) {
			continue
		}
		m.next, m.pause = now.Add(requestTimeout+m.pause), min(2*m.pause, time.Minute)
		a.request("event", p, func() error {
			err := a.cluster.event(ctx, p, "InvalidRestartRules", p.invalid.Error(), now)
			m.told.Store(err == nil)
			return err
		})
	}
	maps.DeleteFunc(a.mistakes, func(uid string, _ *mistake) bool { return !known[uid] })
}
