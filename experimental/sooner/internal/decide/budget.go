package decide

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// Limits are set by the owner of the node. They hold whatever pods ask for. The zero value
// limits nothing.
type Limits struct {
	// MinDelay is the least time between an exit and the removal of its record. 0 means none.
	MinDelay time.Duration
	// NodePerMinute is the number of removals per minute on the node, and
	// NamespacePerMinute that in each namespace. A sixth of it, but at least one, may
	// happen at once. 0 means no limit.
	NodePerMinute, NamespacePerMinute int
}

// budget hands out the removals that Limits allow. Each limit is a token bucket, and a
// removal takes a token of the node and one of its namespace.
//
// If several containers are due, the namespace served longest ago goes first, and
// in it the pod served longest ago. So however many restarts a namespace or a pod
// asks for, another one waits for one turn of each at most.
type budget struct {
	limits     Limits
	node       *rate.Limiter
	namespaces map[string]*rate.Limiter
	turn       uint64            // number of the last removal
	served     map[string]uint64 // turn of the last removal, by namespace
	servedPods map[string]uint64 // the same by UID
}

// candidate is a container whose record would be removed if the budget did not limit it.
type candidate struct {
	pod     *Pod
	record  Record
	verdict int // index in Plan.Verdicts
}

func newBudget(l Limits) *budget {
	return &budget{
		limits: l, node: newLimiter(l.NodePerMinute), namespaces: make(map[string]*rate.Limiter),
		served: make(map[string]uint64), servedPods: make(map[string]uint64),
	}
}

func newLimiter(perMinute int) *rate.Limiter {
	if perMinute <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perMinute)/60, burst(perMinute))
}

// burst returns how many removals may happen at once.
func burst(perMinute int) int { return max(perMinute/6, 1) }

// next returns the index of the candidate whose turn it is. all must not be empty.
func (b *budget) next(all []candidate) int {
	first := slices.MinFunc(all, func(x, y candidate) int {
		return cmp.Or(
			cmp.Compare(b.served[x.pod.Namespace], b.served[y.pod.Namespace]),
			cmp.Compare(b.servedPods[x.pod.UID], b.servedPods[y.pod.UID]),
			x.record.Finished.Compare(y.record.Finished),
			cmp.Compare(x.record.ID, y.record.ID),
		)
	})
	return slices.IndexFunc(all, func(c candidate) bool { return c.record.ID == first.record.ID })
}

// take takes a token of the node and one of the pod's namespace. Without them it takes
// none, and returns the time until there may be both.
func (b *budget) take(p *Pod, elapsed time.Duration) (wait time.Duration) {
	at := instantOf(elapsed)
	namespace := b.namespaces[p.Namespace]
	if namespace == nil {
		namespace = newLimiter(b.limits.NamespacePerMinute)
		b.namespaces[p.Namespace] = namespace
	}
	if wait := max(untilToken(b.node, at), untilToken(namespace, at)); wait > 0 {
		return wait
	}
	b.node.AllowN(at, 1)
	namespace.AllowN(at, 1)
	b.turn++
	b.served[p.Namespace], b.servedPods[p.UID] = b.turn, b.turn
	return 0
}

// instantOf turns elapsed time into the kind of time that a Limiter wants.
func instantOf(elapsed time.Duration) time.Time { return time.Unix(0, 0).Add(elapsed) }

// untilToken returns the time until a limiter has a token.
func untilToken(l *rate.Limiter, at time.Time) time.Duration {
	missing := 1 - l.TokensAt(at)
	if l.Limit() == rate.Inf || missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(l.Limit()) * float64(time.Second)))
}

// forget drops the memory of removed pods, and of namespaces without pods whose bucket is
// full, so that no one gets a full bucket by deleting its pods.
func (b *budget) forget(pods []Pod, elapsed time.Duration) {
	uids, namespaces := make(map[string]bool), make(map[string]bool)
	for _, p := range pods {
		uids[p.UID], namespaces[p.Namespace] = true, true
	}
	drop(b.servedPods, uids)
	maps.DeleteFunc(b.namespaces, func(name string, l *rate.Limiter) bool {
		return !namespaces[name] && (l.Limit() == rate.Inf || l.TokensAt(instantOf(elapsed)) >= float64(l.Burst()))
	})
	maps.DeleteFunc(b.served, func(name string, _ uint64) bool { return b.namespaces[name] == nil })
}
