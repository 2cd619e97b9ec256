# The Job of KEP-4603, as it stands there.

# Relationship with Job API podFailurePolicy and backoffLimit: an excerpt of
# KEP-3329's example, without the template.
lint
{"apiVersion": "v1", "kind": "Job", "spec": {
  "backoffLimit": 3,
  "podFailurePolicy": {"rules": [
    {"action": "FailJob", "onExitCodes": {"containerName": "main-job-container", "operator": "In", "values": [1, 2, 3]}},
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}
----
nothing
