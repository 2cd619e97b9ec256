# The Jobs of KEP-3329, as they stand there.

# Story 1: 40 to 42 are worth another try, all else is a bug. A drained node is
# not, and fails the Job all the same.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "template": {"spec": {"containers": [{"name": "job-container", "image": "job-image", "command": ["./program"]}]}},
  "backoffLimit": 6,
  "podFailurePolicy": {"rules": [
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [40, 41, 42]}}]}}}
----
spec.podFailurePolicy.rules[0].onExitCodes: warning: a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; put a rule for the condition DisruptionTarget before it (drain)

# Story 2: disruptions are tried again without end.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "template": {"spec": {"containers": [{"name": "main-job-container", "image": "job-image", "command": ["./program"],
    "resources": {"requests": {"memory": "10Gi", "ephemeral-storage": "10Gi"}, "limits": {"memory": "10Gi", "ephemeral-storage": "100Gi"}}}]}},
  "backoffLimit": 3,
  "podFailurePolicy": {"rules": [
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}
----
nothing

# Story 3: disruptions count, any exit code but 0 is an error of the user.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "template": {"spec": {"containers": [{"name": "main-job-container", "image": "job-image", "command": ["./program"],
    "resources": {"requests": {"memory": "10Gi", "ephemeral-storage": "10Gi"}, "limits": {"memory": "10Gi", "ephemeral-storage": "100Gi"}}}]}},
  "backoffLimit": 3,
  "podFailurePolicy": {"rules": [
    {"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]},
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}}
----
nothing

# Marking pods as Failed: an image that is not there. The policy without rules
# keeps the pod from counting before it has ended.
lint
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "invalid-image"}, "spec": {
  "template": {"spec": {"restartPolicy": "Never", "containers": [
    {"name": "invalid-image", "image": "non_existing_image_name:102", "command": ["bash"], "args": ["-c", "echo \"Hello world\""]}]}},
  "podFailurePolicy": {"rules": []},
  "backoffLimit": 0}}
----
nothing

# Marking pods as Failed: a config map that is not there.
lint
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "invalid-configmap-ref"}, "spec": {
  "template": {"spec": {"restartPolicy": "Never",
    "volumes": [{"name": "volume-name", "configMap": {"name": "invalid-config-name-name"}}],
    "containers": [{"name": "invalid-configmap-ref", "image": "centos:7", "command": ["bash"], "args": ["-c", "echo \"Hello world\""],
      "volumeMounts": [{"mountPath": "/script_path", "name": "volume-name"}]}]}},
  "podFailurePolicy": {"rules": []},
  "backoffLimit": 0}}
----
nothing

# Marking pods as Failed: an image that takes long to fetch.
lint
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "huge-image"}, "spec": {
  "template": {"spec": {"restartPolicy": "Never", "containers": [
    {"name": "huge-image", "image": "sagemathinc/cocalc", "command": ["bash"], "args": ["-c", "sleep 60 && echo \"Hello world\""]}]}},
  "podFailurePolicy": {"rules": []},
  "backoffLimit": 0}}
----
nothing

# JobSpec API, the example.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "template": {"spec": {"containers": [
    {"name": "main-job-container", "image": "job-image", "command": ["./program"], "resources": {"limits": {"memory": "128Mi", "ephemeral-storage": "1Gi"}}},
    {"name": "monitoring-job-container", "image": "job-monitoring", "command": ["./monitoring"], "resources": {"limits": {"memory": "128Mi", "ephemeral-storage": "1Gi"}}}]}},
  "backoffLimit": 3,
  "podFailurePolicy": {"rules": [
    {"action": "FailJob", "onExitCodes": {"containerName": "main-job-container", "operator": "In", "values": [1, 2, 3]}},
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}
----
nothing

# Alternatives: patterns with a key and an operator, as in node affinity. That API
# was turned down; read as this one, its pattern has no type, and the second list
# item no action.
lint
{"spec": {"podFailurePolicy": {"rules": [
  {"action": "Ignore"},
  {"onPodConditions": [
    {"key": "Type", "operator": "In", "values": ["Evicted", "Preempted"]},
    {"key": "Status", "operator": "In", "values": ["True"]}]}]}}}
----
spec.podFailurePolicy.rules[0]: warning: no pod can meet the rule's requirement; give it exit codes other than 0, or conditions (unreachable)
spec.podFailurePolicy.rules[1]: warning: the action "" is unknown, so the rule is skipped; use Count, FailIndex, FailJob or Ignore (unreachable)
