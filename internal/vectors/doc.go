// Package vectors runs recorded cases, which are inputs and outcomes of Kubernetes in
// JSON files. It is for tests only.
//
// The files are in testdata/vectors. Those of restart delays were recorded with client-go
// v0.37.2, the others with Kubernetes 1.36.3, which is under Apache-2.0. They record what
// Kubernetes does, which is not always what its documents say. VECTORS_DIR names another
// folder with files of the same names.
//
// A file holds cases of one or several kinds. A case's wanted outcome consists of its
// fields whose names begin with "want". For each kind a package has a function that
// computes our outcome in the same shape, and the runner compares every field of the
// wanted outcome with ours. A difference from Kubernetes is declared by a property of the
// input.
//
// # Kinds
//
// A case's origin is "table" for a row of Kubernetes' own tests, and "probe" for another
// input to the same code. Policies and pods are shortened forms of Kubernetes' objects,
// without defaults. A pod's index, index_failures and index_ignored_failures are raw
// annotations; tracked means that it has the finalizer, so its end is not recorded yet.
//
// restartdelay:
//   - crashloop: a container crashes after each of runs_ms. Wanted is the delay before each
//     restart, as in a kubelet: the first restart is immediate, and a run longer than
//     reset_ms starts over.
//   - retry: a call fails after each of runs_ms. Wanted is the delay after each failure. If
//     more than twice max_ms has passed since the last failure, the curve starts over.
//
// backoffrecord: the failures in a row of a Job, and when pods succeeded and failed since.
// Wanted are the failures in a row, and the last one.
//
// finishtime: a pod. Wanted is when it finished, or year 1 if nothing is known.
//
// remaining:
//   - global: the failures in a row of a Job. Wanted is the time until it may create pods.
//   - per_index: the last failed pod of an index. Wanted is the time until its replacement.
//   - ready_indexes: indexes, and the last failed pod of each. Wanted are those that need not
//     wait, and the shortest wait if all must.
//
// indexset_parse:
//   - strict: a text of indexes. Wanted is whether the API server rejects it, and how many
//     indexes it names.
//   - lenient: a text in a status. Wanted is the text that the controller prints after reading
//     it, and the total.
//   - format: ranges of indexes. Wanted are their text and total.
//
// indexset_ops:
//   - has: ranges and an index. Wanted is whether they contain it.
//   - union: two texts. Wanted are the text and total of their union.
//   - succeeded: a Job's text of completed indexes, and its pods. Wanted are the text read, and
//     that after the pass.
//   - failed: the same for failed indexes. Wanted is the new text, null without a limit per
//     index.
//   - index_failed: a pod. Wanted is whether it failed, and whether its index did.
//   - kept_pods: the pods of a Job. Wanted are, in order, the UIDs of failed pods that keep
//     their finalizer until they are replaced.
//   - next_counts: a failed pod, null for none. Wanted are the counts in its replacement's
//     annotations.
//   - pending: active and ended indexes. Wanted are up to count indexes to start.
//   - duplicates: active pods. Wanted are those to remove and to keep, by UID or position; of
//     pods that differ only in their names, either may be removed.
//   - generate_name: a Job's name and an index. Wanted is the pod's generateName.
//   - failure_count: a raw annotation. Wanted is the count.
//   - overlap: completed and failed indexes. Wanted is null, or an error if an index is in both.
//   - finished_counts: a status and pods. Wanted are the counters, with pods not yet counted.
//
// podfailurepolicy: a pod failure policy and a failed pod. Wanted are the action, whether the
// failure counts, the message and the rule.
//
// successpolicy:
//   - policy: a success policy and succeeded indexes. Wanted is whether it is met, and the
//     message.
//   - rule: one rule. Wanted is whether it is met.
//
// validation:
//   - create and update: a specification, or an old and a new one. Wanted is the list of
//     mistakes, in order.
//
// jobsync: one pass of the controller over a Job, its status and its pods. Times are
// milliseconds since the pass; patches counts removals of the finalizer; of several
// requeue_after_ms the smallest counts; created_indexes have no order.
//
// jobcontroller_runs: whole Jobs with a script of their pods' ends, under a real API server.
// Wanted are each step, the final status and the outcome, or the delays of replacements,
// which contain the recorder's slowness. Package jobruns replays them.
package vectors
