# The Jobs of KEP-3850, as they stand there.

# Story 1: a suite of tests per index.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "parallelism": 10, "completions": 10, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
  "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "job-container", "image": "job-image", "command": ["./tests-runner"]}]}}}}
----
nothing

# Story 2: exit code 42 fails the index at once.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "parallelism": 10, "completions": 10, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
  "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "job-container", "image": "job-image", "command": ["./tests-runner"]}]}},
  "podFailurePolicy": {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}}]}}}
----
nothing

# Story 3: the Job fails with more than five failed indexes.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "parallelism": 10, "completions": 10, "completionMode": "Indexed", "backoffLimitPerIndex": 1, "maxFailedIndexes": 5,
  "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "job-container", "image": "job-image", "command": ["./tests-runner"]}]}}}}
----
nothing

# Upgrade, downgrade, upgrade: the Job of the test by hand.
lint
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job-longrun"}, "spec": {
  "parallelism": 3, "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
  "template": {"spec": {"restartPolicy": "Never", "containers": [
    {"name": "sleep", "image": "busybox:1.36.1", "command": ["sleep"], "args": ["1800"], "imagePullPolicy": "IfNotPresent"}]}}}}
----
nothing

# Alternatives: the limits inside a runPolicy. That API was turned down; its fields
# are unknown here and passed over.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "parallelism": 10, "completions": 10, "completionMode": "Indexed", "backoffLimit": 4,
  "runPolicy": {"backoffLimitPerIndex": true, "maxFailedIndexes": 1}}}
----
nothing

# Alternatives: the limit per index as a bool. That API was turned down too.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "parallelism": 10, "completions": 10, "completionMode": "Indexed", "backoffLimit": 1, "backoffLimitPerIndex": true}}
----
not a Job
