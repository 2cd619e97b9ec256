# Conflict resolution beyond KEP-4603's table: what its text says, and the edges.

# The text's example: a maximum below the first delay pulls the first delay down.
resolve allow max=1s
----
initial 1s, maximum 1s, reset after 10m0s
note: Max=1s: the longest delay is 1s; the default is 5m0s, and the first delay is lowered to it from 10s

# The gate alone changes nothing: unset is not 300s.
resolve allow
----
initial 10s, maximum 5m0s, reset after 10m0s

resolve reduce allow
----
initial 1s, maximum 1m0s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s and ends at 60s

# A setting behind a closed gate is not looked at, whatever its value, and
# warned about.
resolve max=301s
----
initial 10s, maximum 5m0s, reset after 10m0s
warning: Max=5m1s: ignored because the feature gate KubeletCrashLoopBackOffMax is off

resolve reduce max=301s
----
initial 1s, maximum 1m0s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s and ends at 60s
warning: Max=5m1s: ignored because the feature gate KubeletCrashLoopBackOffMax is off

resolve max=-5s
----
initial 10s, maximum 5m0s, reset after 10m0s
warning: Max=-5s: ignored because the feature gate KubeletCrashLoopBackOffMax is off

resolve reduce max=2s
----
initial 1s, maximum 1m0s, reset after 10m0s
note: ReduceDefault=true: the curve starts at 1s and ends at 60s
warning: Max=2s: ignored because the feature gate KubeletCrashLoopBackOffMax is off

# Fractions of a second are fine inside the bounds.
resolve allow max=1.5s
----
initial 1.5s, maximum 1.5s, reset after 10m0s
note: Max=1.5s: the longest delay is 1.5s; the default is 5m0s, and the first delay is lowered to it from 10s

resolve allow max=299.999999999s
----
initial 10s, maximum 4m59.999999999s, reset after 10m0s
note: Max=4m59.999999999s: the longest delay is 4m59.999999999s; the default is 5m0s

# The bounds are exact.
resolve allow max=0s
----
error: backoff: CrashLoopConfig.Resolve: Max: invalid value 0s: must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)

resolve allow max=999ms
----
error: backoff: CrashLoopConfig.Resolve: Max: invalid value 999ms: must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)

resolve allow max=300.000000001s
----
error: backoff: CrashLoopConfig.Resolve: Max: invalid value 5m0.000000001s: must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)

resolve allow max=-5s
----
error: backoff: CrashLoopConfig.Resolve: Max: invalid value -5s: must be in [1s, 300s] (crashLoopBackOff.maxContainerRestartPeriod)
