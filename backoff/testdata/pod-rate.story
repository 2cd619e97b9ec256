# A pod with an app on the CrashLoop curve and a sidecar on a flat one, both under
# the rate of the node: at most one restart in two seconds, whoever it is. A turn
# that was booked for a distant restart does not hold back a near one.

policy flat initial=1s max=1s
----

pod until=30s rate=0.5
app ran=2s
sidecar ran=2s policy=flat
----
2s       app: exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
2s       sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
5s       sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 2 in a row)
8s       sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 3 in a row)
11s      sidecar: exit code 1 under restartPolicy Always: restarts in 3s (failure 4 in a row)
14s      app: exit code 1 under restartPolicy Always: restarts in 20s (failure 2 in a row)
16s      sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 5 in a row)
19s      sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 6 in a row)
22s      sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 7 in a row)
25s      sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 8 in a row)
28s      sidecar: exit code 1 under restartPolicy Always: restarts in 1s (failure 9 in a row)

# A burst: the bucket starts full, so three come at once.
pod until=6s rate=0.5 burst=3
a ran=0s policy=flat
b ran=0s policy=flat
c ran=0s policy=flat
d ran=0s policy=flat
----
0s       a: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
0s       b: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
0s       c: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
0s       d: exit code 1 under restartPolicy Always: restarts in 3s (failure 1 in a row)
1s       a: exit code 1 under restartPolicy Always: restarts in 4s (failure 2 in a row)
1s       b: exit code 1 under restartPolicy Always: restarts in 6s (failure 2 in a row)
1s       c: exit code 1 under restartPolicy Always: restarts in 8s (failure 2 in a row)
3s       d: exit code 1 under restartPolicy Always: restarts in 8s (failure 2 in a row)
5s       a: exit code 1 under restartPolicy Always: restarts in 8s (failure 3 in a row)

# Woken together, they take their turns.
pod until=100s rate=0.1
a ran=1s
b ran=1s
c ran=1s
wake at=30s
----
1s       a: exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
1s       b: exit code 1 under restartPolicy Always: restarts in 20s (failure 1 in a row)
1s       c: exit code 1 under restartPolicy Always: restarts in 30s (failure 1 in a row)
12s      a: exit code 1 under restartPolicy Always: restarts in 29s (failure 2 in a row)
22s      b: exit code 1 under restartPolicy Always: restarts in 29s (failure 2 in a row)
30s      a is woken: restarts in 11s
30s      b is woken: restarts in 21s
30s      c is woken: restarts in 1s
32s      c: exit code 1 under restartPolicy Always: restarts in 29s (failure 2 in a row)
42s      a: exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
52s      b: exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
1m2s     c: exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
1m23s    a: exit code 1 under restartPolicy Always: restarts in 1m20s (failure 4 in a row)
1m33s    b: exit code 1 under restartPolicy Always: restarts in 1m20s (failure 4 in a row)
