package decide

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/restartrules"
)

// simAgent runs a State on a world, as the program does.
type simAgent struct {
	*world
	state  *State
	seen   map[string]map[string]Shown
	exits  map[string]string // the pods of the exited records
	polled time.Duration
	dies   bool // after the next removal
	held   int  // verdicts that a budget holds back
}

func newSimAgent(w *world) *simAgent {
	return &simAgent{world: w, state: NewState(w.limits), seen: map[string]map[string]Shown{}}
}

// poll takes a step for the static pods whose exited records have changed, the other pods
// whose statuses have, and those that await one.
func (a *simAgent) poll(end bool) {
	if a.now < a.polled && !end {
		return
	}
	a.polled = a.now + Poll
	listed := a.state.Due(a.now)
	exits := map[string]string{}
	for _, p := range a.pods {
		if !maps.Equal(a.seen[p.UID], p.shown) {
			a.seen[p.UID], listed[p.UID] = maps.Clone(p.shown), true
		}
		for _, r := range p.records {
			if r.State == Exited {
				exits[r.ID] = p.UID
			}
		}
	}
	for _, p := range a.pods {
		of := func(exits map[string]string) map[string]string {
			exits = maps.Clone(exits)
			maps.DeleteFunc(exits, func(_, uid string) bool { return uid != p.UID })
			return exits
		}
		if p.Static && !maps.Equal(of(exits), of(a.exits)) {
			listed[p.UID] = true
		}
	}
	switch {
	case end || a.exits == nil:
		listed = nil
	case len(listed) == 0:
		return
	case a.draw(20) == 0:
		listed = nil
	}
	a.exits = exits
	o := a.observe(a.seen, listed)
	o.End = end
	plan := a.state.Step(o)
	for _, v := range plan.Verdicts {
		if v.Reason == ReasonBudget {
			a.held++
		}
	}
	if due := a.state.Due(a.now); len(due) > 0 && len(plan.Remove) == 0 {
		a.t.Fatalf("pods %v await another step at once", due)
	}
	a.carryOut(plan)
}

func (a *simAgent) carryOut(plan Plan) {
	for _, id := range plan.Unpoke {
		for _, p := range a.pods {
			p.records = slices.DeleteFunc(p.records, func(r *simRecord) bool {
				if r.ID == id && r.Name != PokeName {
					a.t.Fatalf("unpoke of %s", r.Name)
				}
				return r.ID == id
			})
		}
	}
	for _, r := range plan.Remove {
		p := a.podOf(r.Pod)
		a.allowed(p, r)
		if !a.faultless && a.draw(8) == 0 {
			a.kinds["removal fails"]++
			continue
		}
		a.removals++
		p.records = slices.DeleteFunc(p.records, func(o *simRecord) bool { return o.ID == r.ID })
	}
	if len(plan.Remove) > 0 {
		a.polled = 0
		if a.dies {
			a.dies = false
			a.kinds["agent dies after a removal"]++
			a.restart()
			return
		}
	}
	for _, poke := range plan.Poke {
		p := a.podOf(poke.Pod)
		if p.Static && !poke.ByRecord {
			a.t.Fatalf("poke %+v", poke)
		}
		switch {
		case poke.ByRecord:
			p.records = append(p.records, &simRecord{Record: Record{ID: a.id(), Sandbox: poke.Sandbox, Pod: p.UID, Name: PokeName, Created: a.wall()}})
		case a.up:
			p.sync = a.now
		}
	}
}

// restart starts a new agent, which has full buckets.
func (a *simAgent) restart() {
	a.state, a.exits = NewState(a.limits), nil
	clear(a.removed)
}

func (a *simAgent) podOf(uid string) *simPod {
	i := slices.IndexFunc(a.pods, func(p *simPod) bool { return p.UID == uid })
	if i < 0 {
		a.t.Fatalf("no pod %s", uid)
	}
	return a.pods[i]
}

// allowed is the slow reading of the invariants, on the world itself.
func (a *simAgent) allowed(p *simPod, r Record) {
	refuse := func(why string) {
		a.t.Fatalf("%s: removal of %s of %s, run %d: %s", a.now, r.ID, r.Pod+"/"+r.Name, r.RestartCount, why)
	}
	if p.Rules == nil && p.Now == "" {
		refuse("no opt-in")
	}
	if p.Ended || p.restarting {
		refuse("the pod is ending or restarts all containers")
	}
	box := p.boxes[len(p.boxes)-1]
	var truth *simRecord
	for _, o := range p.records {
		if o.Name != r.Name {
			continue
		}
		if truth != nil {
			refuse("it is not the only record")
		}
		truth = o
	}
	switch {
	case truth == nil || truth.ID != r.ID:
		refuse("it is not the record")
	case truth.State != Exited:
		refuse("it has not exited")
	case truth.Sandbox != box.ID || !box.Ready:
		refuse("it is not in the ready sandbox")
	}
	if last := p.last[r.Name]; last == nil || last.ID != r.ID || last.RestartCount != truth.RestartCount {
		if !p.Static || a.up && a.now-a.since >= Settle {
			refuse("the kubelet has not seen the exit")
		}
		a.kinds["the kubelet is down"]++
		p.last[r.Name] = truth
	}
	for _, c := range p.Containers {
		switch mine := c.Name == r.Name; {
		case mine && c.Init:
			refuse("it is of an init container")
		case mine && !restarts(c, truth.code):
			refuse("the kubelet would not restart it")
		case c.Init:
			own := newestOf(valuesOf(p.records), c.Name)
			if own == nil || own.Sandbox != box.ID || c.Sidecar != (own.State == Running) {
				refuse("an init container would run again")
			}
		}
	}
	if p.next[r.Name] != truth.RestartCount+1 {
		refuse("the log does not continue the count")
	}
	if a.kinds["clock"] == 0 && a.now-truth.ends < a.limits.MinDelay {
		refuse("it is too soon")
	}
	for name, perMinute := range map[string]int{"": a.limits.NodePerMinute, p.Namespace: a.limits.NamespacePerMinute} {
		a.removed[name] = append(a.removed[name], a.now)
		if !keepsRate(a.removed[name], perMinute) {
			refuse("too many per minute")
		}
	}
	if rules := p.Rules; rules != nil && !a.state.ended[r.ID] && rules.Curve == nil && (truth.code != 42 || len(rules.Rules) == 0) {
		refuse("its exit is left to the kubelet")
	}
}

// keepsRate is the slow reading of a limit: however a span of time is chosen, it has no more
// removals than a full bucket and what flows in meanwhile.
func keepsRate(removed []time.Duration, perMinute int) bool {
	if perMinute == 0 {
		return true
	}
	last := len(removed) - 1
	for first := range removed {
		most := float64(burst(perMinute)) + (removed[last]-removed[first]).Minutes()*float64(perMinute)
		if float64(last-first+1) > most+1e-6 {
			return false
		}
	}
	return true
}

// outcome checks the effects on the pods.
func (w *world) outcome() {
	for _, p := range w.pods {
		if p.lies > 0 {
			w.t.Fatalf("%s: the kubelet invented %d exits", p.UID, p.lies)
		}
		for _, c := range p.Containers {
			for i, n := range p.counts[c.Name] {
				if n != int64(i) {
					w.t.Fatalf("%s/%s: restart counts %v", p.UID, c.Name, p.counts[c.Name])
				}
			}
			if most := len(p.boxes) + p.rounds; c.Init && !c.Sidecar && p.initRuns[c.Name] > most {
				w.t.Fatalf("%s/%s: ran %d times, expected %d", p.UID, c.Name, p.initRuns[c.Name], most)
			}
		}
	}
}

// fault injects a fault, and reports whether all waits are to end.
func (a *simAgent) fault() (end bool) {
	if a.draw(a.calm) > 0 {
		return false
	}
	switch a.draw(10) {
	case 0:
		a.kinds["clock"]++
		a.skew += time.Duration(a.draw(7200)-3600) * time.Second
	case 1:
		a.kinds["agent restarts"]++
		a.restart()
	case 2:
		a.kinds["kubelet restarts"]++
		a.up = false
	case 3:
		a.kinds["pod is deleted"]++
		a.pods[a.draw(len(a.pods))].Ended = true
	case 4:
		a.dies = true
	case 5:
		a.kinds["waits end"]++
		return true
	case 6:
		p := a.pods[a.draw(len(a.pods))]
		a.kinds["restart-now"]++
		p.Now += "x"
	case 7:
		p := a.pods[a.draw(len(a.pods))]
		for _, id := range slices.Sorted(maps.Keys(p.shown)) {
			if !a.inUse(id) {
				a.reuse = id
			}
		}
	case 8:
		a.kinds["sandbox ends"]++
		a.sandbox(a.pods[a.draw(len(a.pods))])
	case 9:
		a.kinds["rules change"]++
		a.pods[a.draw(len(a.pods))].Rules = a.anyRules()
	}
	return false
}

var (
	worlds = flag.Uint64("decide.worlds", 100, "worlds to simulate")
	first  = flag.Uint64("decide.first", 0, "seed of the first world")
)

// eachWorld runs a test of each world, named after its seed.
func eachWorld(t *testing.T, faultless bool, test func(*simAgent)) {
	t.Helper()
	for seed := *first; seed < *first+*worlds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { test(newSimAgent(newWorld(t, seed, faultless))) })
	}
}

func TestRemovalsAreAllowed(t *testing.T) {
	removals, held, kinds := 0, 0, map[string]int{}
	eachWorld(t, false, func(a *simAgent) {
		for range 1200 {
			a.tick()
			a.poll(a.fault())
		}
		a.outcome()
		removals += a.removals
		held += a.held
		for kind, n := range a.kinds {
			kinds[kind] += n
		}
	})
	t.Logf("%d removals, %d times held by a budget, faults: %v", removals, held, kinds)
	if *worlds < 100 {
		return
	}
	for _, kind := range []string{"clock", "agent restarts", "kubelet restarts", "pod is deleted", "agent dies after a removal", "waits end", "restart-now", "removal fails", "id used again", "sandbox ends", "rules change"} {
		if kinds[kind] == 0 {
			t.Errorf("no fault %q", kind)
		}
	}
	if removals == 0 || held == 0 {
		t.Errorf("%d removals, %d times held by a budget", removals, held)
	}
}

// Without faults, an exempt exit is followed by a start within seconds, from the first
// delay of the kubelet on.
func TestExemptExitsRestartWithinSeconds(t *testing.T) {
	restarted := 0
	eachWorld(t, true, func(a *simAgent) {
		for range 900 {
			a.tick()
			a.poll(false)
			for _, p := range a.pods {
				for _, c := range p.Containers {
					r := newestOf(valuesOf(p.records), c.Name)
					if c.Init || r == nil || r.State != Exited || !restarts(c, r.Code) || !initialized(&p.Pod, recordsOf(p), p.boxes[0].ID) {
						continue
					}
					if since := a.wall().Sub(r.Finished); since > 5*time.Second {
						a.t.Fatalf("%s/%s: run %d ended %v ago", p.UID, c.Name, r.RestartCount, since)
					}
				}
				for _, counts := range p.counts {
					restarted += len(counts) - 1
				}
			}
		}
		a.outcome()
	})
	if restarted == 0 {
		t.Error("no restarts")
	}
}

func valuesOf(records []*simRecord) []simRecord {
	var all []simRecord
	for _, r := range records {
		all = append(all, *r)
	}
	return all
}

func recordsOf(p *simPod) []Record {
	var all []Record
	for _, r := range p.records {
		all = append(all, r.Record)
	}
	slices.SortFunc(all, func(a, b Record) int { return b.Created.Compare(a.Created) })
	return all
}

// The rules of the table are those of a pod with one container, whose first exit is at
// t0 and shown.
func TestVerdicts(t *testing.T) {
	t0, none := epoch, Limits{}
	curve := &backoff.Policy{Initial: 4 * time.Second, Max: 16 * time.Second}
	pod := func(edit ...func(*Pod)) Pod {
		p := Pod{
			UID: "p", Containers: []Container{{Name: "c"}}, Rules: &restartrules.Rules{Curve: curve},
			Shown: map[string]Shown{"a": {Name: "c", Finished: t0}},
		}
		for _, e := range edit {
			e(&p)
		}
		return p
	}
	record := func(edit ...func(*Record)) Record {
		r := Record{
			ID: "a", Sandbox: "s", Pod: "p", Name: "c", State: Exited, Created: t0.Add(-time.Minute), Detailed: true,
			Code: 1, Started: t0.Add(-time.Second), Finished: t0, NextCount: 1,
		}
		for _, e := range edit {
			e(&r)
		}
		return r
	}
	for name, c := range map[string]struct {
		pod     Pod
		records []Record
		at      time.Duration
		want    Reason
		limits  Limits
	}{
		"due":                 {pod(), []Record{record()}, 4 * time.Second, ReasonDue, none},
		"waiting":             {pod(), []Record{record()}, 3 * time.Second, ReasonWaiting, none},
		"no curve":            {pod(func(p *Pod) { p.Rules = &restartrules.Rules{} }), []Record{record()}, time.Hour, ReasonKubelet, none},
		"not shown":           {pod(func(p *Pod) { p.Shown = nil }), []Record{record()}, time.Hour, ReasonNotShown, none},
		"an earlier run":      {pod(), []Record{record(func(r *Record) { r.Finished = t0.Add(time.Minute) })}, time.Hour, ReasonNotShown, none},
		"never":               {pod(func(p *Pod) { p.Containers[0].Policy.RestartPolicy = "Never" }), []Record{record()}, time.Hour, ReasonNoRestart, none},
		"success":             {pod(func(p *Pod) { p.Containers[0].Policy.RestartPolicy = "OnFailure" }), []Record{record(func(r *Record) { r.Code = 0 })}, time.Hour, ReasonNoRestart, none},
		"deleted":             {pod(func(p *Pod) { p.Ended = true }), []Record{record()}, time.Hour, ReasonEnded, none},
		"other sandbox":       {pod(), []Record{record(func(r *Record) { r.Sandbox = "old" })}, time.Hour, ReasonSandbox, none},
		"older record":        {pod(), []Record{record(), record(func(r *Record) { r.ID, r.Created = "b", t0.Add(-time.Hour) })}, time.Hour, ReasonOlder, none},
		"no log":              {pod(), []Record{record(func(r *Record) { r.NextCount = 0 })}, time.Hour, ReasonLog, none},
		"status not read":     {pod(), []Record{record(func(r *Record) { r.Detailed = false })}, time.Hour, ReasonUnread, none},
		"clock set back":      {pod(), []Record{record()}, -time.Hour, ReasonWaiting, none},
		"init record is gone": {pod(func(p *Pod) { p.Containers = append(p.Containers, Container{Name: "i", Init: true}) }), []Record{record()}, time.Hour, ReasonInit, none},
		"too soon":            {pod(), []Record{record()}, 4 * time.Second, ReasonWaiting, Limits{MinDelay: 5 * time.Second}},
		"late enough":         {pod(), []Record{record()}, 5 * time.Second, ReasonDue, Limits{MinDelay: 5 * time.Second}},
		"within the limits":   {pod(), []Record{record()}, 4 * time.Second, ReasonDue, Limits{NodePerMinute: 1, NamespacePerMinute: 1}},
	} {
		plan := NewState(c.limits).Step(Observation{
			Now: t0.Add(c.at), Pods: []Pod{c.pod}, Records: c.records,
			Sandboxes: []Sandbox{{ID: "s", Pod: "p", Ready: true, Created: t0}},
		})
		if len(plan.Verdicts) != 1 || plan.Verdicts[0].Reason != c.want || (len(plan.Remove) == 1) != (c.want == ReasonDue) {
			t.Errorf("%s: %+v, want %s", name, plan, c.want)
		}
	}
}

// Changed rules start the curves over. Equal rules, read again, do not.
func TestChangedRulesStartOver(t *testing.T) {
	rules := func(initial time.Duration) *restartrules.Rules {
		return &restartrules.Rules{Curve: &backoff.Policy{Initial: initial, Max: time.Hour}}
	}
	for _, tt := range []struct {
		rules *restartrules.Rules
		wait  time.Duration
	}{
		{rules(4 * time.Second), 8 * time.Second},
		{rules(3 * time.Second), 3 * time.Second},
	} {
		s := NewState(Limits{})
		var plan Plan
		for run, r := range []*restartrules.Rules{rules(4 * time.Second), rules(4 * time.Second), tt.rules} {
			exit := min(run, 1)
			at := epoch.Add(time.Duration(exit) * time.Minute)
			id := fmt.Sprint("run-", exit)
			plan = s.Step(Observation{
				Now: at, Elapsed: time.Duration(exit) * time.Minute,
				Pods: []Pod{{
					UID: "p", Containers: []Container{{Name: "c"}}, Rules: r, Shown: map[string]Shown{id: {Name: "c", Finished: at}},
				}},
				Sandboxes: []Sandbox{{ID: "s", Pod: "p", Ready: true, Created: epoch}},
				Records: []Record{{
					ID: id, Sandbox: "s", Pod: "p", Name: "c", State: Exited, Created: at.Add(-time.Second), Detailed: true,
					Code: 1, Started: at.Add(-time.Second), Finished: at, RestartCount: int64(exit), NextCount: int64(exit) + 1,
				}},
			})
		}
		if v := plan.Verdicts; len(v) != 1 || v[0].Reason != ReasonWaiting || v[0].Wait != tt.wait {
			t.Errorf("verdicts %+v, want a wait of %v", v, tt.wait)
		}
	}
}
