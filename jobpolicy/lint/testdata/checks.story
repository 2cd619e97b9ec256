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
{"spec": {"activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "b"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}},
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3]}},
  {"action": "Ignore", "onExitCodes": {"containerName": "b", "operator": "In", "values": [1]}}]}}}
----
spec.podFailurePolicy.rules[2]: warning: rules 0 and 1 together match every pod that this rule matches; move this rule before them or remove it (unreachable)
spec.podFailurePolicy.rules[3]: notice: rule 0 matches every pod that this rule matches; move this rule before rule 0 or remove it (unreachable)

# A rule for any container is for injected ones, too, which no rule names.
lint
{"spec": {"activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"containerName": "a", "operator": "In", "values": [1]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]}}}
----
nothing

# unreachable, in ways that validation refuses.
lint
{"spec": {"activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
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
  {"action": "FailIndex", "onPodConditions": [{"type": "example.com/A"}]},
  {"action": "FailJob", "onPodConditions": [{"type": "example.com/A", "status": "True"}]}]}}}
----
spec.podFailurePolicy.rules[1]: warning: rule 0 fails the index for the same failures, so this rule never fails the Job; remove one of the two (unreachable)
spec.podFailurePolicy.rules[3]: warning: rule 2 fails the index for the same failures, so this rule never fails the Job; remove one of the two (unreachable)

# shadowed: some of the codes and patterns of a rule.
lint
{"spec": {"activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2, 3]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3, 4]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 5]}},
  {"action": "Count", "onPodConditions": [{"type": "example.com/A"}]},
  {"action": "Ignore", "onPodConditions": [{"type": "example.com/B"}, {"type": "example.com/A"}, {"type": "example.com/A", "status": "False"}]}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes.values: warning: rule 0 decides on 2, 3 first; remove them from one of the rules (shadowed)
spec.podFailurePolicy.rules[2].onExitCodes.values: notice: rule 0 decides on 1 first; remove it from one of the rules (shadowed)
spec.podFailurePolicy.rules[4].onPodConditions: warning: rule 3 decides on example.com/A=True first; remove it from one of the rules (shadowed)

# duplicate: no status means True.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "example.com/A"}, {"type": "example.com/A", "status": "False"}, {"type": "example.com/A", "status": "True"}]}]}}}
----
spec.podFailurePolicy.rules[0].onPodConditions: notice: the rule repeats example.com/A=True; list it once (duplicate)

# impossible-code: some, and all that is left for a rule.
lint
{"spec": {"activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [-1, 1, 256]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1000, 1001]}},
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [255, 300]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes.values: notice: no container on Linux exits with -1, 256; remove them, or set os.name to windows in the template if it is for Windows (impossible-code)
spec.podFailurePolicy.rules[1].onExitCodes.values: warning: the rule decides only on exit codes below 0 or above 255, which no container on Linux has; list codes from 1 to 255, or set os.name to windows in the template if it is for Windows (impossible-code)
spec.podFailurePolicy.rules[2].onExitCodes.values: notice: no container on Linux exits with 300; remove it, or set os.name to windows in the template if it is for Windows (impossible-code)

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
  {"action": "Ignore", "onPodConditions": [{"type": "example.com/Evicted"}, {"type": "DisruptionTarget"}]},
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
{"spec": {"completionMode": "Indexed", "completions": 2147483647, "parallelism": 71493, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"completionMode": "Indexed", "completions": 2147483647, "parallelism": 71494, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.parallelism: warning: the index fields of the status may need 1572867 bytes, but an API object has at most 1572864; lower parallelism or completions (size)

lint
{"spec": {"completionMode": "Indexed", "completions": 2147483647, "parallelism": 10000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10000, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

# endless: an ignored exit code of the Job's own program, in ways that people write it,
# and what comes close: a deadline, disruptions only, a rule that no pod reaches.
lint
{"spec": {"backoffLimit": 3, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [137]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes: warning: failures with exit code 137 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"backoffLimit": 3, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
  {"action": "FailJob", "onExitCodes": {"containerName": "a", "operator": "In", "values": [42]}},
  {"action": "Ignore", "onExitCodes": {"containerName": "a", "operator": "NotIn", "values": [42]}}]}}}
----
spec.podFailurePolicy.rules[2].onExitCodes: warning: failures of container a with any exit code but 42 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1, "maxFailedIndexes": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes: warning: failures with any exit code never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}, {"type": "Ready", "status": "False"}]}]}}}
----
spec.podFailurePolicy.rules[0].onPodConditions: warning: failures with the condition Ready=False, which every failed pod has, never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [137]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}, {"type": "example.com/Quota"}]},
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [137, 1]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 137]}}]}}}
----
spec.podFailurePolicy.rules[2]: warning: rule 1 matches every pod that this rule matches; move this rule before rule 1 or remove it (unreachable)

# endless: only the container that the rule names, and only the exit codes and conditions on
# which no earlier rule decides for that container.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main"}, {"name": "helper"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onExitCodes": {"containerName": "helper", "operator": "In", "values": [42]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes: warning: failures of container helper with exit code 42 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "b"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"containerName": "a", "operator": "In", "values": [1]}},
  {"action": "Ignore", "onExitCodes": {"containerName": "b", "operator": "In", "values": [1]}}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes: warning: failures of container b with exit code 1 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [2, 42]}},
  {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [3]}}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes: warning: failures with any exit code but 2, 3, 42 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0, 1, 2]}},
  {"action": "Ignore", "onExitCodes": {"containerName": "a", "operator": "NotIn", "values": [2]}}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes: warning: failures of container a with exit code 1 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}},
  {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes.values: warning: rule 0 decides on 1 first; remove it from one of the rules (shadowed)
spec.podFailurePolicy.rules[1].onExitCodes: warning: failures with exit code 2 never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}},
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [1]}},
  {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onPodConditions": [{"type": "Ready", "status": "False"}]},
  {"action": "Ignore", "onPodConditions": [{"type": "Ready", "status": "False"}, {"type": "PodScheduled"}]}]}}}
----
spec.podFailurePolicy.rules[1].onPodConditions: warning: rule 0 decides on Ready=False first; remove it from one of the rules (shadowed)
spec.podFailurePolicy.rules[1].onPodConditions: warning: failures with the condition PodScheduled=True, which every failed pod has, never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them (endless)

# unknown-condition: a misspelt one, reasons that are no conditions, the example of the
# documentation, one name twice. A readiness gate of the template and names with a domain
# are set by controllers.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptedTarget"}]},
  {"action": "FailJob", "onPodConditions": [{"type": "OOMKilled"}, {"type": "Evicted"}, {"type": "OOMKilled", "status": "Unknown"}]},
  {"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue"}, {"type": "Flaky"}]}]}}}
----
spec.podFailurePolicy.rules[0].onPodConditions[0].type: warning: no part of Kubernetes sets the condition DisruptedTarget; use DisruptionTarget if it is meant (unknown-condition)
spec.podFailurePolicy.rules[1].onPodConditions[0].type: warning: no part of Kubernetes sets the condition OOMKilled; it is the reason of a container's end; use onExitCodes with 137 (unknown-condition)
spec.podFailurePolicy.rules[1].onPodConditions[1].type: warning: no part of Kubernetes sets the condition Evicted; it is the reason of a pod; use DisruptionTarget, which evicted pods have (unknown-condition)
spec.podFailurePolicy.rules[2].onPodConditions[0].type: warning: no part of Kubernetes sets the condition ConfigIssue; it is an example in the documentation; if a controller of yours sets it, give it a domain, such as example.com/ConfigIssue (unknown-condition)
spec.podFailurePolicy.rules[2].onPodConditions[1].type: warning: no part of Kubernetes sets the condition Flaky; if a controller of yours sets it, give it a domain, such as example.com/Flaky (unknown-condition)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "readinessGates": [{"conditionType": "Connected"}], "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onPodConditions": [{"type": "Connected", "status": "False"}, {"type": "example.com/ConfigIssue"}, {"type": "PodReadyToStartContainers", "status": "False"}, {"type": "Initialized", "status": "False"}]}]}}}
----
nothing

# impossible-code: Windows has these exit codes, as the template says or as the codes
# themselves do.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "os": {"name": "windows"}, "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [-1073741819, -1, 1603, 3010]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1603]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [-1073741819]}},
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [-1073741510, 2, 3010]}}]}}}
----
spec.podFailurePolicy.rules[1].onExitCodes.values: notice: no container on Linux exits with 3010; remove it, or set os.name to windows in the template if it is for Windows (impossible-code)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "nodeSelector": {"kubernetes.io/os": "linux"}, "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [-1073741819]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes.values: warning: the rule decides only on exit codes below 0 or above 255, which no container on Linux has; list codes from 1 to 255 (impossible-code)

# drain: on Windows containers do not end with 137 or 143.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "os": {"name": "windows"}, "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0, 40]}}]}}}
----
nothing

# deadline: the delays of the limit alone take longer, also if all pods fail together or
# for one index. Not if the kubelet restarts in place, whose delays are its own.
lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 60, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 1m0s passes before backoffLimit 6 is reached, because the delays after the first 3 failures alone last at least 1m10s; raise the deadline or lower backoffLimit (deadline)

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 630, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 10m30s passes before backoffLimit 6 is reached, because the delays after the first 6 failures alone last at least 10m30s; raise the deadline or lower backoffLimit (deadline)

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 631, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

# The last failures are those of pods that run together. Four failures before them last
# 1m30s: one is replaced after 10s, and three after 1m20s.
lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 90, "parallelism": 3, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 1m30s passes before backoffLimit 6 is reached, because the delays after the first 4 failures alone last at least 1m30s; raise the deadline or lower backoffLimit (deadline)

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 91, "parallelism": 3, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

# Each success starts the delays over, and lets pods that failed beside it be replaced at
# once.
lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 60, "parallelism": 1, "completions": 20, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 1m0s passes before backoffLimit 6 is reached, because the delays after the first 6 failures alone last at least 1m0s; raise the deadline or lower backoffLimit (deadline)

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 61, "parallelism": 1, "completions": 20, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 20, "parallelism": 2, "completions": 3, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 20s passes before backoffLimit 6 is reached, because the delays after the first 5 failures alone last at least 20s; raise the deadline or lower backoffLimit (deadline)

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 120, "parallelism": 3, "completions": 3, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 60, "parallelism": 7, "completions": 7, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"completionMode": "Indexed", "completions": 9, "backoffLimitPerIndex": 3, "activeDeadlineSeconds": 60, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 1m0s passes before backoffLimitPerIndex 3 is reached, because the delays after the first 3 failures alone last at least 1m10s; raise the deadline or lower backoffLimitPerIndex (deadline)

# All indexes together may use up backoffLimit before any of them its own limit.
lint
{"spec": {"completionMode": "Indexed", "completions": 10, "parallelism": 10, "backoffLimit": 2, "backoffLimitPerIndex": 6, "activeDeadlineSeconds": 25, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"completionMode": "Indexed", "completions": 10, "parallelism": 10, "backoffLimit": 59, "backoffLimitPerIndex": 6, "activeDeadlineSeconds": 300, "template": {"spec": {"restartPolicy": "Never"}}}}
----
nothing

lint
{"spec": {"completionMode": "Indexed", "completions": 10, "parallelism": 10, "backoffLimit": 60, "backoffLimitPerIndex": 6, "activeDeadlineSeconds": 300, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 5m0s passes before backoffLimitPerIndex 6 is reached, because the delays after the first 5 failures alone last at least 5m10s; raise the deadline or lower backoffLimitPerIndex (deadline)

lint
{"spec": {"backoffLimit": 100, "activeDeadlineSeconds": 3600, "template": {"spec": {"restartPolicy": "Never"}}}}
----
spec.activeDeadlineSeconds: notice: the deadline of 1h0m0s passes before backoffLimit 100 is reached, because the delays after the first 11 failures alone last at least 1h0m30s; raise the deadline or lower backoffLimit (deadline)

lint
{"spec": {"backoffLimit": 6, "activeDeadlineSeconds": 60, "template": {"spec": {"restartPolicy": "OnFailure"}}}}
----
nothing

# drain: a rule that ignores disruptions comes after one that counts any failure, as
# those of a drained node. It is right the other way round, and where the first rule
# leaves out an exit code of killed containers.
lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0]}},
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}
----
spec.podFailurePolicy.rules[1].onPodConditions: warning: a drained node or a preemption ends containers with exit code 137 or 143, on which rule 0 decides first, so such a pod is not ignored; move this rule before rule 0 (drain)

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
  {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
nothing

lint
{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "b"}]}}, "podFailurePolicy": {"rules": [
  {"action": "Count", "onExitCodes": {"operator": "In", "values": [1, 137]}},
  {"action": "Count", "onExitCodes": {"containerName": "a", "operator": "NotIn", "values": [0]}},
  {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}
----
nothing
