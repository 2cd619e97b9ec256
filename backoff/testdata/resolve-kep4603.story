# KEP-4603, Conflict resolution: the table of scenarios, row by row. Its last
# column is headed "Effective initial value" but prints the effective maximum
# from the third row on; here both are told.
#
# reduce is the gate ReduceDefaultCrashLoopBackOffDecay, allow the gate
# KubeletCrashLoopBackOffMax (the KEP's EnableKubeletCrashLoopBackoffMax), max the
# node's setting. The reset stays at 10 minutes.

# today's behavior | disabled | disabled | 10s
resolve
----
initial 10s, maximum 5m0s, reset after 10m0s

# new default only | enabled | disabled | 1s
resolve reduce
----
initial 1s, maximum 1m0s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s and ends at 60s

# faster per node config | disabled | 2s | 2s
resolve allow max=2s
----
initial 2s, maximum 2s, reset after 10m0s
note: Max=2s: the longest delay is 2s; the default is 5m0s, and the first delay is lowered to it from 10s

# faster per node config | enabled | 2s | 2s
resolve reduce allow max=2s
----
initial 1s, maximum 2s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s; Max overrules its end at 60s
note: Max=2s: the longest delay is 2s; the default is 1m0s

# slower per node config | enabled | 10s | 10s
resolve reduce allow max=10s
----
initial 1s, maximum 10s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s; Max overrules its end at 60s
note: Max=10s: the longest delay is 10s; the default is 1m0s

# slower per node config | enabled | 300s | 300s
resolve reduce allow max=300s
----
initial 1s, maximum 5m0s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s; Max overrules its end at 60s
note: Max=5m0s: the longest delay is 5m0s; the default is 1m0s

# slower per node config | disabled | 11s | 11s
resolve allow max=11s
----
initial 10s, maximum 11s, reset after 10m0s
note: Max=11s: the longest delay is 11s; the default is 5m0s

# slower per node config | disabled | 300s | 300s
resolve allow max=300s
----
initial 10s, maximum 5m0s, reset after 10m0s
note: Max=5m0s: the longest delay is 5m0s; the default is 5m0s

# invalid per node config | disabled | 301s | kubelet crashes
resolve allow max=301s
----
error: backoff: CrashLoopConfig.Resolve: Max: invalid value 5m1s: must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)

# invalid per node config | enabled | 301s | kubelet crashes
resolve reduce allow max=301s
----
error: backoff: CrashLoopConfig.Resolve: Max: invalid value 5m1s: must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)
