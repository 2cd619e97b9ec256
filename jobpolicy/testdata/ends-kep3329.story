# The 14 end states of pods that KEP-3329 reviews ("Current state review"), each
# against the policies of its three stories, without and with the condition
# DisruptionTarget, which that KEP adds to the disruptions among them. Story 1
# fails the Job for any exit code but 40 to 42, story 2 ignores disruptions,
# story 3 counts them and fails the Job for any other exit code.

# Preemption.
end phase=Failed code=137 deleting
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Taint-based eviction.
end phase=Failed code=137 deleting
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Node drain.
end phase=Failed code=137 deleting
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Node-pressure eviction, memory.
end phase=Failed code=137
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Node-pressure eviction, disk.
end phase=Failed code=137
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Container memory limit exceeded, on Linux.
end phase=Failed code=137
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Container memory limit exceeded, on Windows.
end phase=Failed code=1
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Container ephemeral-storage limit exceeded.
end phase=Failed code=137
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Graceful node shutdown, SIGTERM not handled.
end phase=Failed code=137
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted

# Graceful node shutdown, SIGTERM handled, exit code 0.
end phase=Succeeded code=0
----
story 1, plain: succeeded
story 1, disrupted: succeeded
story 2, plain: succeeded
story 2, disrupted: succeeded
story 3, plain: succeeded
story 3, disrupted: succeeded

# Pod admission error: no container was ever created.
end phase=Failed
----
story 1, plain: no rule, counted
story 1, disrupted: no rule, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: no rule, counted
story 3, disrupted: rule 0, Count, counted

# Disconnected node: the pod is being deleted but stays Running. With a policy it
# is judged once something (the garbage collector of pods) has ended it.
end phase=Running deleting
----
story 1, plain: not ended, not judged yet
story 1, disrupted: not ended, not judged yet
story 2, plain: not ended, not judged yet
story 2, disrupted: not ended, not judged yet
story 3, plain: not ended, not judged yet
story 3, disrupted: not ended, not judged yet

# Disconnected node with the taint manager disabled.
end phase=Running
----
story 1, plain: not ended, not judged yet
story 1, disrupted: not ended, not judged yet
story 2, plain: not ended, not judged yet
story 2, disrupted: not ended, not judged yet
story 3, plain: not ended, not judged yet
story 3, disrupted: not ended, not judged yet

# Direct container kill.
end phase=Failed code=137
----
story 1, plain: rule 0, FailJob, counted
story 1, disrupted: rule 0, FailJob, counted
story 2, plain: no rule, counted
story 2, disrupted: rule 0, Ignore, not counted
story 3, plain: rule 1, FailJob, counted
story 3, disrupted: rule 0, Count, counted
