// Package backoff decides when something that failed is restarted: a container, a
// process, a task, anything with a key.
//
// A [Policy] is a delay curve. Presets give the curves of Kubernetes; a
// [CrashLoopConfig] resolves what a node's feature gates and settings come to;
// Policy.Timeline and Policy.Restarts say in advance what a curve does.
//
// Two types keep a curve per key. A [Restarter] takes whole decisions about exits:
// restart policy and rules, backoff, limits, a rate over all keys. Start there. A
// [Tracker] is the backoff alone, as the kubelet drives client-go's, and a rate
// limiter for a work queue.
//
// Nothing here starts a goroutine or does any IO, and all state goes through JSON.
// Where a number saturates or a clock jumps, no wait becomes negative, longer than
// its maximum, or endless.
//
// Sources: KEP-4603 (tune CrashLoopBackOff), KEP-5307 (container restart rules)
// and KEP-5532 (restart all containers).
package backoff
