package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/restartrules"
)

// world is a node in virtual time: pods, a runtime, a kubelet and an API server. The
// kubelet decides as Kubernetes' does, from the records of its last relist.
type world struct {
	t      testing.TB
	random *rand.Rand
	now    time.Duration // since the start
	skew   time.Duration // of the wall clock
	pods   []*simPod
	ids    int

	calm      int           // ticks between faults
	up        bool          // the kubelet
	since     time.Duration // of its start
	relist    time.Duration
	removals  int
	kinds     map[string]int // how often faults happened
	reuse     string         // an id to be used again
	faultless bool
	limits    Limits
	removed   map[string][]time.Duration // when records were removed, by namespace and "" for the node
}

// simPod is a pod of the world.
type simPod struct {
	Pod
	boxes      []Sandbox
	records    []*simRecord
	cache      []simRecord // as of the kubelet's last relist
	next       map[string]int64
	backoff    map[string]time.Duration
	sync       time.Duration // the next one, which awaits a relist since the last
	synced     time.Duration
	relisted   time.Duration
	restarting bool // all containers
	rounds     int  // how often all containers were started over
	initRuns   map[string]int
	counts     map[string][]int64
	shown      map[string]Shown // at the API server, which the agent sees later
	lies       int
	last       map[string]*simRecord // last exit that the kubelet saw
}

type simRecord struct {
	Record
	ends time.Duration
	code int32
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *world) wall() time.Time { return epoch.Add(w.now + w.skew) }

// draw returns a number below n.
func (w *world) draw(n int) int { return w.random.IntN(n) }

func newWorld(t testing.TB, seed uint64, faultless bool) *world {
	calms := []int{6, 40, 300}
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 0)), calm: calms[seed%3], up: true, kinds: map[string]int{}, faultless: faultless, removed: map[string][]time.Duration{}}
	if !faultless {
		w.limits = []Limits{{}, {MinDelay: 2 * time.Second}, {NodePerMinute: 9, NamespacePerMinute: 6}, {time.Second, 20, 3}}[w.draw(4)]
	}
	for i := range 1 + w.draw(3) {
		w.pods = append(w.pods, w.newPod(i))
	}
	return w
}

func (w *world) newPod(i int) *simPod {
	p := &simPod{
		Pod:  Pod{UID: fmt.Sprint("pod-", i), Namespace: fmt.Sprint("ns-", i%2), Static: w.draw(3) == 0},
		next: map[string]int64{}, backoff: map[string]time.Duration{}, initRuns: map[string]int{},
		counts: map[string][]int64{}, shown: map[string]Shown{}, last: map[string]*simRecord{},
	}
	policies := []backoff.RestartPolicy{"Always", "Always", "OnFailure", "Never"}
	policy := backoff.ExitPolicy{RestartPolicy: policies[w.draw(len(policies))]}
	for n := range w.draw(3) {
		p.Containers = append(p.Containers, Container{Name: fmt.Sprint("init-", n), Init: true, Policy: policy})
	}
	if w.draw(3) == 0 {
		p.Containers = append(p.Containers, Container{
			Name: "sidecar", Init: true, Sidecar: true, Initialized: true, Policy: backoff.ExitPolicy{RestartPolicy: "Always"},
		})
	}
	for n := range 1 + w.draw(2) {
		own := policy
		if w.draw(4) == 0 {
			action := []backoff.Action{backoff.ActionRestart, backoff.ActionRestartAll}[w.draw(2)]
			own.Rules = []backoff.Rule{{Action: action, ExitCodes: &backoff.ExitCodes{Operator: "In", Values: []int32{88}}}}
		}
		p.Containers = append(p.Containers, Container{Name: fmt.Sprint("c-", n), Policy: own})
	}
	if p.Rules = w.anyRules(); w.faultless {
		p.Rules = &restartrules.Rules{Rules: []backoff.Rule{on42(1000)}}
	}
	w.sandbox(p)
	return p
}

func simCurve(free int) *backoff.Policy {
	return &backoff.Policy{Initial: time.Second, Max: 30 * time.Second, FreeFailures: free}
}

// on42 returns a rule that restarts after code 42.
func on42(free int) backoff.Rule {
	return backoff.Rule{
		Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: "In", Values: []int32{42}}, Delay: simCurve(free),
	}
}

// anyRules draws rules of a pod, or none. Code 42 is exempt by the first rule or the second.
func (w *world) anyRules() *restartrules.Rules {
	unmatched := backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: "In", Values: []int32{7}}}
	all := []*restartrules.Rules{
		nil,
		{Rules: []backoff.Rule{on42(1000)}},
		{Rules: []backoff.Rule{on42(1000)}, Curve: simCurve(0)},
		{},
		{Rules: []backoff.Rule{unmatched, on42(0)}},
	}
	return all[w.draw(len(all))]
}

// sandbox gives a pod a new sandbox. All containers in the last one end.
func (w *world) sandbox(p *simPod) {
	for i := range p.boxes {
		p.boxes[i].Ready = false
	}
	for _, r := range p.records {
		if r.State == Running {
			r.ends = w.now
		}
	}
	p.boxes = append(p.boxes, Sandbox{ID: w.id(), Pod: p.UID, Ready: true, Created: w.wall()})
}

func (w *world) id() string {
	id := w.reuse
	w.reuse = ""
	if id != "" && !w.inUse(id) {
		w.kinds["id used again"]++
		return id
	}
	w.ids++
	return fmt.Sprint("id-", w.ids)
}

// inUse reports whether a record or sandbox has the id.
func (w *world) inUse(id string) bool {
	return slices.ContainsFunc(w.pods, func(p *simPod) bool {
		return slices.ContainsFunc(p.records, func(r *simRecord) bool { return r.ID == id }) ||
			slices.ContainsFunc(p.boxes, func(b Sandbox) bool { return b.ID == id })
	})
}

// tick lets a tenth of a second pass.
func (w *world) tick() {
	w.now += 100 * time.Millisecond
	for _, p := range w.pods {
		for _, r := range p.records {
			if r.State == Running && w.now >= r.ends {
				r.State, r.Detailed, r.Code, r.Finished = Exited, true, r.code, w.wall()
			}
		}
	}
	if !w.up && w.draw(30) == 0 {
		w.startKubelet()
	}
	if !w.up {
		return
	}
	if w.now >= w.relist {
		w.relist = w.now + time.Second
		for _, p := range w.pods {
			w.relistPod(p)
		}
	}
	for _, p := range w.pods {
		if w.now >= p.sync && p.relisted > p.synced {
			w.syncPod(p)
		}
	}
}

// startKubelet starts a kubelet without memory. Its first relist precedes its first sync.
func (w *world) startKubelet() {
	w.up, w.since, w.relist = true, w.now, w.now
	for _, p := range w.pods {
		p.backoff, p.cache, p.sync, p.synced = map[string]time.Duration{}, nil, w.now, w.now-1
	}
}

// relistPod notices changes. A removal alone is not worth a sync.
func (w *world) relistPod(p *simPod) {
	old := map[string]RecordState{}
	for _, r := range p.cache {
		old[r.ID] = r.State
	}
	p.cache, p.relisted = nil, w.now
	for _, r := range p.records {
		if state, ok := old[r.ID]; !ok || state != r.State {
			p.sync = w.now
		}
		p.cache = append(p.cache, *r)
	}
}

func newestOf(cache []simRecord, name string) *simRecord {
	var newest *simRecord
	for i := range cache {
		if cache[i].Name == name {
			newest = &cache[i] // in the order of creation
		}
	}
	return newest
}

// syncPod is the kubelet's syncPod.
func (w *world) syncPod(p *simPod) {
	p.synced = w.now
	p.sync = w.now + time.Minute + time.Duration(w.draw(30))*time.Second
	if p.Ended {
		return
	}
	w.status(p)
	if p.restarting {
		p.restarting = false
		p.rounds++
		for _, r := range p.records {
			p.last[r.Name] = r // it saw the ends before it removed the records
		}
		p.records, p.cache = nil, nil
		p.sync = w.now
		return
	}
	for _, c := range p.Containers {
		r := newestOf(p.cache, c.Name)
		if r == nil || r.State != Exited {
			continue
		}
		if action, _ := c.Policy.DecideExit(exitOf(r.Record), 1); action == backoff.ActionRestartAll {
			p.restarting, p.sync = true, w.now+500*time.Millisecond
			return
		}
	}
	if !w.initialize(p) {
		return
	}
	keep := 0
	for _, c := range p.Containers {
		if c.Init {
			continue
		}
		r := newestOf(p.cache, c.Name)
		switch {
		case r != nil && r.State == Running:
			keep++
		case r != nil && !restarts(c, r.Code):
		default:
			keep++
			w.startUnlessHeldBack(p, c, r)
		}
	}
	p.Ended = keep == 0
}

func restarts(c Container, code int32) bool {
	action, _ := c.Policy.DecideExit(backoff.Exit{Code: code}, 1)
	return action == backoff.ActionRestart
}

// status writes the exits to the API server. A record removed before its exit was seen
// makes the kubelet report an invented exit.
func (w *world) status(p *simPod) {
	for _, c := range p.Containers {
		r := newestOf(p.cache, c.Name)
		if r != nil && r.State == Exited {
			p.shown[r.ID] = Shown{Name: c.Name, Finished: r.Finished.Truncate(time.Second)}
			p.last[c.Name] = r
			// The kubelet deletes older records of the name.
			p.records = slices.DeleteFunc(p.records, func(o *simRecord) bool {
				return o.Name == c.Name && o.State == Exited && o.ID != r.ID && o.Created.Before(r.Created)
			})
		}
		if r == nil && len(p.counts[c.Name]) > 0 && !p.restarting {
			last := p.last[c.Name]
			if n := p.counts[c.Name]; last == nil || last.RestartCount != n[len(n)-1] {
				p.lies++
			}
		}
	}
}

// initialize starts init containers that are due and reports whether the others may
// start.
func (w *world) initialize(p *simPod) bool {
	box := p.boxes[len(p.boxes)-1].ID
	for _, c := range p.Containers {
		if r := newestOf(p.cache, c.Name); !c.Init && r != nil && r.Sandbox == box {
			for _, c := range p.Containers { // only sidecars matter from here on
				if r := newestOf(p.cache, c.Name); c.Sidecar && (r == nil || r.State == Exited) {
					w.startUnlessHeldBack(p, c, r)
				}
			}
			return true
		}
	}
	for i := len(p.Containers) - 1; i >= 0; i-- {
		c := p.Containers[i]
		if !c.Init {
			continue
		}
		r := newestOf(p.cache, c.Name)
		last := i+1 == len(p.Containers) || !p.Containers[i+1].Init
		switch {
		case r == nil || r.Sandbox != box:
			if i == 0 {
				w.startUnlessHeldBack(p, c, r)
				return false
			}
			continue
		case r.State == Running && !c.Sidecar:
			return false
		case r.State == Exited && c.Sidecar:
			w.startUnlessHeldBack(p, c, r)
			return false
		case last:
			return true
		}
		w.startUnlessHeldBack(p, p.Containers[i+1], nil)
		return false
	}
	return true
}

// startUnlessHeldBack starts a container unless the kubelet's crash-loop delay, counted
// from the exit of r, holds it back.
func (w *world) startUnlessHeldBack(p *simPod, c Container, r *simRecord) {
	count := p.next[c.Name]
	if r != nil {
		count = r.RestartCount + 1
		delay, waits := p.backoff[c.Name]
		if since := w.wall().Sub(r.Finished); waits && since < delay {
			rest := min(delay-since, time.Minute)
			jitter := time.Duration(w.draw(6)) * rest / 10
			p.sync = min(p.sync, w.now+rest+jitter)
			return
		}
		p.backoff[c.Name] = min(max(2*delay, 10*time.Second), 5*time.Minute)
	}
	w.start(p, c, count)
}

func (w *world) start(p *simPod, c Container, count int64) {
	codes := []int32{42, 42, 1, 0, 88}
	r := &simRecord{
		Record: Record{
			ID: w.id(), Sandbox: p.boxes[len(p.boxes)-1].ID, Pod: p.UID, Name: c.Name, State: Running,
			Created: w.wall(), Started: w.wall(), RestartCount: count,
		},
		code: codes[w.draw(len(codes))],
		ends: w.now + time.Duration(1+w.draw(50))*100*time.Millisecond,
	}
	switch {
	case w.faultless && !c.Init:
		r.code = 42
	case c.Sidecar && (w.faultless || w.draw(3) > 0):
		r.ends = w.now + time.Hour
	}
	if c.Init && !c.Sidecar {
		r.code = 0
		p.initRuns[c.Name]++
	}
	p.next[c.Name] = max(p.next[c.Name], count+1)
	p.counts[c.Name] = append(p.counts[c.Name], count)
	p.records = append(p.records, r)
	p.sync = min(p.sync, w.now+time.Second)
}

// observe returns what the agent sees, with the exits that the API server shows it.
func (w *world) observe(seen map[string]map[string]Shown, listed map[string]bool) Observation {
	o := Observation{Now: w.wall(), Elapsed: w.now, Listed: listed}
	for _, p := range w.pods {
		pod := p.Pod
		pod.Shown = seen[p.UID]
		o.Pods = append(o.Pods, pod)
		if listed != nil && !listed[p.UID] {
			continue
		}
		o.Sandboxes = append(o.Sandboxes, p.boxes...)
		for _, r := range p.records {
			record := r.Record
			record.NextCount = p.next[r.Name]
			o.Records = append(o.Records, record)
		}
	}
	return o
}
