# Each check of Lint: what it finds, and what comes close to it and is meant.

# unreachable: the first rule takes any failure. Meant would be the other order.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}}}
----
spec.podFailurePolicy.rules[1]: warning: rule 0 matches every failure (NotIn [0]); move this rule before rule 0 (unreachable)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "b"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"containerName": "a", "operator": "NotIn", "values": [0]}},
  {"action": "FailJob", "onExitCodes": {"containerName": "a", "operator": "In", "values": [42]}}]}}}
----
spec.podFailurePolicy.rules[1]: warning: rule 0 matches every pod that this rule matches; move this rule before rule 0 or remove it (unreachable)

# unreachable: two rules together take what the third wants; the last does the
# same as the first, which only makes it superfluous.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "b"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}},
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3]}},
  {"action": "Ignore", "onExitCodes": {"containerName": "b", "operator": "In", "values": [1]}}]}}}
----
spec.podFailurePolicy.rules[2]: warning: rules 0 and 1 together match every pod that this rule matches; move this rule before them or remove it (unreachable)
spec.podFailurePolicy.rules[3]: notice: rule 0 matches every pod that this rule matches; move this rule before rule 0 or remove it (unreachable)

# A rule for any container is for injected ones, too, which no rule names.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"containerName": "a", "operator": "In", "values": [1]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]}}}
----
nothing

# unreachable, in ways that validation refuses.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Retry", "onExitCodes": {"operator": "In", "values": [1]}},
  {"action": "Ignore", "onExitCodes": {"containerName": "x", "operator": "In", "values": [1]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0]}},
  {"action": "Ignore"},
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}}]}}}
----
spec.podFailurePolicy.rules[0]: warning: the action "Retry" is unknown, so the rule is skipped; use Count, FailIndex, FailJob or Ignore (unreachable)
spec.podFailurePolicy.rules[1]: warning: the template has no container "x", so the rule matches no pod; name one of its containers (unreachable)
spec.podFailurePolicy.rules[2]: warning: no pod can meet the rule's requirement; give it exit codes other than 0, or conditions (unreachable)
spec.podFailurePolicy.rules[3]: warning: no pod can meet the rule's requirement; give it exit codes other than 0, or conditions (unreachable)

# unreachable: FailIndex and FailJob for the same failures.
lint
{"spec": {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1,
  "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [2, 3]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3]}},
  {"action": "FailIndex", "onPodConditions": [{"type": "A"}]},
  {"action": "FailJob", "onPodConditions": [{"type": "A", "status": "True"}]}]}}}
----
spec.podFailurePolicy.rules[1]: warning: rule 0 fails the index for the same failures, so this rule never fails the Job; remove one of the two (unreachable)
spec.podFailurePolicy.rules[3]: warning: rule 2 fails the index for the same failures, so this rule never fails the Job; remove one of the two (unreachable)

# shadowed: some of the codes and patterns of a rule.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2, 3]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3, 4]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 5]}},
  {"action": "Count", "onPodConditions": [{"type": "A"}]},
  {"action": "Ignore", "onPodConditions": [{"type": "B"}, {"type": "A"}, {"type": "A", "status": "False"}]}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes.values: warning: rule 0 decides on 2, 3 first; remove them from one of the rules (shadowed)
spec.podFailurePolicy.rules[2].onExitCodes.values: notice: rule 0 decides on 1 first; remove it from one of the rules (shadowed)
spec.podFailurePolicy.rules[4].onPodConditions: warning: rule 3 decides on A=True first; remove it from one of the rules (shadowed)

# duplicate: no status means True.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "A"}, {"type": "A", "status": "False"}, {"type": "A", "status": "True"}]}]}}}
----
spec.podFailurePolicy.rules[0].onPodConditions: notice: the rule repeats A=True; list it once (duplicate)

# impossible-code: some, and all that is left for a rule.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [-1, 1, 256]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1000, 1001]}},
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [255, 300]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes.values: notice: no container on Linux exits with -1, 256; remove them (impossible-code)
spec.podFailurePolicy.rules[1].onExitCodes.values: warning: the rule decides only on exit codes below 0 or above 255, which no container on Linux has; list codes from 1 to 255 (impossible-code)
spec.podFailurePolicy.rules[2].onExitCodes.values: notice: no container on Linux exits with 300; remove it (impossible-code)

# drain: a rule that fails the Job for 137, with the rule for disruptions missing,
# behind it, for another status, before it, and before it but unknown.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [137]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes: warning: a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it (drain)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"containerName": "a", "operator": "NotIn", "values": [137]}},
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes: warning: a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; move rule 1 for the condition DisruptionTarget before it (drain)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]},
  {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [143]}}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes: warning: a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it (drain)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "Evicted"}, {"type": "DisruptionTarget"}]},
  {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Later", "onPodConditions": [{"type": "DisruptionTarget"}]},
  {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
spec.podFailurePolicy.rules[0]: warning: the action "Later" is unknown, so the rule is skipped; use Count, FailIndex, FailJob or Ignore (unreachable)
spec.podFailurePolicy.rules[1].onExitCodes: warning: a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it (drain)

# drain: an earlier rule may see to the codes instead.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [137, 143]}},
  {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
nothing

# success-never and success-always. The last two are meant: any one index, and all.
lint
{"spec": {"completionMode": "Indexed", "completions": 5, "template": {"spec": {"restartPolicy": "Never"}}, "successPolicy": {"rules": [
  {"succeededIndexes": ""},
  {"succeededIndexes": "0-2", "succeededCount": 0},
  {"succeededCount": 0},
  {"succeededCount": 6},
  {"succeededIndexes": "7-9"},
  {"succeededIndexes": "0-2", "succeededCount": 4},
  {},
  {"succeededCount": 1},
  {"succeededIndexes": "0-4"}]}}}
----
spec.successPolicy.rules[0].succeededIndexes: warning: the rule names no index of the Job, so it is never met; name some or remove the field (success-never)
spec.successPolicy.rules[1].succeededCount: warning: the first success of any index meets the rule and ends the Job; use a count of 1 or more (success-always)
spec.successPolicy.rules[2].succeededCount: warning: the first success of any index meets the rule and ends the Job; use a count of 1 or more (success-always)
spec.successPolicy.rules[3].succeededCount: warning: only 5 indexes can succeed, so the rule is never met; use a lower count (success-never)
spec.successPolicy.rules[4].succeededIndexes: warning: the rule names no index of the Job, so it is never met; name some or remove the field (success-never)
spec.successPolicy.rules[6]: warning: the rule has neither indexes nor a count, so it is never met; set one of them (success-never)

lint
{"spec": {"completionMode": "Indexed", "completions": 0, "template": {"spec": {"restartPolicy": "Never"}}, "successPolicy": {"rules": [{"succeededCount": 0}]}}}
----
spec.successPolicy.rules[0]: warning: without completions no index ever succeeds; remove the policy (success-never)

# on-failure
lint
{"spec": {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1, "template": {"spec": {"restartPolicy": "OnFailure"}}}}
----
spec.backoffLimitPerIndex: warning: restarts in place under OnFailure do not count towards the limit per index; use restartPolicy Never (on-failure)

# size: the largest that fits without a limit per index, one more, and the largest
# that validation lets pass with one.
lint
{"spec": {"completionMode": "Indexed", "completions": 2147483647, "parallelism": 71494, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"completionMode": "Indexed", "completions": 2147483647, "parallelism": 71495, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.parallelism: warning: the index fields of the status can grow to 1572880 bytes, but an API object only to 1572864; lower parallelism or completions (size)

lint
{"spec": {"completionMode": "Indexed", "completions": 2147483647, "parallelism": 10000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10000, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing
