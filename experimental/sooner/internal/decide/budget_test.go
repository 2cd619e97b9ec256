package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/restartrules"
)

// greedyNode is a node whose pods have one container each. Some exit again at once after each
// start, and ask for a restart without a delay.
type greedyNode struct {
	state *State
	now   time.Duration
	pods  []Pod
	runs  map[string]int           // by UID
	exits map[string]time.Duration // since when a container waits, by UID
}

func newGreedyNode(l Limits) *greedyNode {
	return &greedyNode{state: NewState(l), runs: map[string]int{}, exits: map[string]time.Duration{}}
}

func (n *greedyNode) add(namespace, name string) {
	n.pods = append(n.pods, Pod{
		UID: name, Namespace: namespace, Containers: []Container{{Name: "c"}},
		Rules: &restartrules.Rules{Curve: &backoff.Policy{Initial: time.Nanosecond, Max: time.Nanosecond}},
	})
}

// exit ends the run of a pod's container.
func (n *greedyNode) exit(name string) { n.exits[name] = n.now }

// step lets the agent look at all pods, and returns those whose containers it restarts.
func (n *greedyNode) step() []string {
	o := Observation{Now: epoch.Add(n.now), Elapsed: n.now}
	for _, p := range n.pods {
		o.Sandboxes = append(o.Sandboxes, Sandbox{ID: p.UID, Pod: p.UID, Ready: true, Created: epoch})
		if since, waits := n.exits[p.UID]; waits {
			id, finished := fmt.Sprint(p.UID, "#", n.runs[p.UID]), epoch.Add(since)
			p.Shown = map[string]Shown{id: {Name: "c", Finished: finished.Truncate(time.Second)}}
			o.Records = append(o.Records, Record{
				ID: id, Sandbox: p.UID, Pod: p.UID, Name: "c", State: Exited, Created: finished, Started: finished, Finished: finished,
				Detailed: true, Code: 1, RestartCount: int64(n.runs[p.UID]), NextCount: int64(n.runs[p.UID]) + 1,
			})
		}
		o.Pods = append(o.Pods, p)
	}
	var restarted []string
	for _, r := range n.state.Step(o).Remove {
		restarted = append(restarted, r.Pod)
		n.runs[r.Pod]++
		delete(n.exits, r.Pod)
	}
	return restarted
}

// Sixty pods of one namespace that want to restart without a pause take half of the node's
// restarts, and share them evenly. A pod in another namespace does not notice them, and one in the
// same namespace that restarts seldom is the next to restart.
func TestGreedyNamespaceDelaysNoNeighbour(t *testing.T) {
	n := newGreedyNode(Limits{MinDelay: time.Second, NodePerMinute: 60, NamespacePerMinute: 30})
	for i := range 60 {
		n.add("greedy", fmt.Sprint("g", i))
	}
	n.add("other", "neighbour")
	n.add("greedy", "modest")
	waits := map[string]time.Duration{}
	const minutes = 5
	for ; n.now < minutes*time.Minute; n.now += Poll {
		for i := range 60 {
			if _, waits := n.exits[fmt.Sprint("g", i)]; !waits {
				n.exit(fmt.Sprint("g", i))
			}
		}
		if n.now%(30*time.Second) == 10*time.Second {
			n.exit("neighbour")
		}
		if n.now == 3*time.Minute {
			n.exit("modest")
		}
		before := map[string]time.Duration{"neighbour": n.exits["neighbour"], "modest": n.exits["modest"]}
		for _, name := range n.step() {
			if since, ok := before[name]; ok {
				waits[name] = max(waits[name], n.now-since)
			}
		}
	}
	greedy, least, most := 0, 1000, 0
	for i := range 60 {
		runs := n.runs[fmt.Sprint("g", i)]
		greedy, least, most = greedy+runs, min(least, runs), max(most, runs)
	}
	if want := 30*minutes + 5 - 1; greedy < want-2 || greedy > want+1 || most-least > 1 {
		t.Errorf("%d restarts of the greedy pods, from %d to %d of each", greedy, least, most)
	}
	if n.runs["neighbour"] != 2*minutes || waits["neighbour"] != time.Second {
		t.Errorf("%d restarts of the neighbour, up to %v after an exit", n.runs["neighbour"], waits["neighbour"])
	}
	if n.runs["modest"] != 1 || waits["modest"] > 3*time.Second {
		t.Errorf("%d restarts of the modest pod, up to %v after an exit", n.runs["modest"], waits["modest"])
	}
}

// Namespaces and pods take turns, whatever their names and however long they wait.
func TestTurns(t *testing.T) {
	n := newGreedyNode(Limits{NodePerMinute: 6})
	for _, p := range []struct{ namespace, name string }{{"a", "a1"}, {"a", "a2"}, {"a", "a3"}, {"b", "b1"}, {"c", "c1"}} {
		n.add(p.namespace, p.name)
		n.exit(p.name)
		n.now += time.Second
	}
	var order []string
	for len(order) < 10 {
		for _, name := range n.step() {
			order = append(order, name)
			n.exit(name)
		}
		n.now += Poll
	}
	want := []string{"a1", "b1", "c1", "a2", "b1", "c1", "a3", "b1", "c1", "a1"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

// Deleting pods does not fill a bucket. The memory of a namespace ends when its bucket is full.
func TestBudgetOutlivesPods(t *testing.T) {
	n := newGreedyNode(Limits{NamespacePerMinute: 6})
	n.add("a", "a1")
	n.exit("a1")
	n.now += time.Second // longer than the delay
	if got := n.step(); len(got) != 1 {
		t.Fatalf("restarts %q", got)
	}
	n.pods = nil
	n.now += time.Second
	n.step()
	n.add("a", "a2")
	n.exit("a2")
	n.now += time.Second
	if got := n.step(); len(got) != 0 {
		t.Errorf("restarts %q, though the namespace has had its restart", got)
	}
	n.pods = nil
	clear(n.exits)
	n.now += 10 * time.Second
	n.step()
	if b := n.state.budget; len(b.namespaces)+len(b.served)+len(b.servedPods) != 0 {
		t.Errorf("left in memory: %v, %v, %v", b.namespaces, b.served, b.servedPods)
	}
}

// bucketModel is the plain reading of a budget: the times of all removals.
type bucketModel struct {
	limits Limits
	all    map[string][]time.Duration // by namespace, and "" for the node
}

// allows reports whether a removal now would keep to the limits.
func (m *bucketModel) allows(namespace string, now time.Duration) bool {
	return keepsRate(append(slices.Clone(m.all[""]), now), m.limits.NodePerMinute) &&
		keepsRate(append(slices.Clone(m.all[namespace]), now), m.limits.NamespacePerMinute)
}

// A removal is granted if and only if the limits allow it, and a wait is the shortest one.
func TestBudgetIsThatOfTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{0, 1, 6, 12, 60})
		m := &bucketModel{Limits{NodePerMinute: limit.Draw(t, "node"), NamespacePerMinute: limit.Draw(t, "namespace")}, map[string][]time.Duration{}}
		b := newBudget(m.limits)
		now := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "removals") {
			now += rapid.SampledFrom([]time.Duration{0, Poll, time.Second, 7 * time.Second, 2 * time.Minute}).Draw(t, "pause")
			p := &Pod{Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "of"), UID: "p"}
			allowed := m.allows(p.Namespace, now)
			wait := b.take(p, now)
			const slack = time.Millisecond
			if wait > 0 && wait < slack {
				continue // rounded
			}
			if allowed != (wait == 0) {
				t.Fatalf("at %v: wait %v, but the model says %v: %v", now, wait, allowed, m.all)
			}
			if wait > 0 && (m.allows(p.Namespace, now+wait-slack) || !m.allows(p.Namespace, now+wait+slack)) {
				t.Fatalf("at %v: %v is not the shortest wait: %v", now, wait, m.all)
			}
			if wait == 0 {
				m.all[""], m.all[p.Namespace] = append(m.all[""], now), append(m.all[p.Namespace], now)
			}
		}
	})
}
