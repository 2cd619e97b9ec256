# KEP-4603's user stories, with what a Restarter has to offer for each.

# Task isolation: a container exits with success on purpose, to be started anew for
# the next session. A flat curve restarts it at a small constant delay; without
# one, success counts like any exit ("On Success and the 10 minute recovery
# threshold").
policy flat initial=1s max=1s
----

pod until=4m
session ran=45s code=0 policy=flat
same-today ran=45s code=0
----
45s      session: exit code 0 under restartPolicy Always: restarts in 1s (exit 1 in a row)
45s      same-today: exit code 0 under restartPolicy Always: restarts in 10s (exit 1 in a row)
1m31s    session: exit code 0 under restartPolicy Always: restarts in 1s (exit 1 in a row)
1m40s    same-today: exit code 0 under restartPolicy Always: restarts in 20s (exit 2 in a row)
2m17s    session: exit code 0 under restartPolicy Always: restarts in 1s (exit 1 in a row)
2m45s    same-today: exit code 0 under restartPolicy Always: restarts in 40s (exit 3 in a row)
3m3s     session: exit code 0 under restartPolicy Always: restarts in 1s (exit 1 in a row)
3m49s    session: exit code 0 under restartPolicy Always: restarts in 1s (exit 1 in a row)

# Fast restart on failure: a dependency is down for some minutes, so the delay has
# grown to its maximum. Once it is back, Wake restarts the container at once; it
# keeps its history.
pod until=12m
trainer ran=1s,1s,1s,1s,1s,1s,10m
wake at=6m
----
1s       trainer: exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
12s      trainer: exit code 1 under restartPolicy Always: restarts in 20s (failure 2 in a row)
33s      trainer: exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
1m14s    trainer: exit code 1 under restartPolicy Always: restarts in 1m20s (failure 4 in a row)
2m35s    trainer: exit code 1 under restartPolicy Always: restarts in 2m40s (failure 5 in a row)
5m16s    trainer: exit code 1 under restartPolicy Always: restarts in 5m0s (failure 6 in a row)
6m0s     trainer is woken: restarts in 0s

# Sidecar containers fast restart: the sidecar is killed for reasons of its own and
# restarted at a flat rate; the app, which crashes, follows the curve.
pod until=45s
app ran=5s
proxy ran=9s code=137 reason=OOMKilled policy=flat
----
5s       app: exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
9s       proxy: exit code 137 (OOMKilled) under restartPolicy Always: restarts in 1s (failure 1 in a row)
19s      proxy: exit code 137 (OOMKilled) under restartPolicy Always: restarts in 1s (failure 1 in a row)
20s      app: exit code 1 under restartPolicy Always: restarts in 20s (failure 2 in a row)
29s      proxy: exit code 137 (OOMKilled) under restartPolicy Always: restarts in 1s (failure 1 in a row)
39s      proxy: exit code 137 (OOMKilled) under restartPolicy Always: restarts in 1s (failure 1 in a row)
45s      app: exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)

# The reduced default: 1s to 60s, and 10 minutes of good behavior start it over.
pod until=24m policy=reduced
app ran=0s,0s,0s,0s,0s,0s,0s,0s,601s,0s,600s,0s
----
0s       app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
1s       app: exit code 1 under restartPolicy Always: restarts in 2s (failure 2 in a row)
3s       app: exit code 1 under restartPolicy Always: restarts in 4s (failure 3 in a row)
7s       app: exit code 1 under restartPolicy Always: restarts in 8s (failure 4 in a row)
15s      app: exit code 1 under restartPolicy Always: restarts in 16s (failure 5 in a row)
31s      app: exit code 1 under restartPolicy Always: restarts in 32s (failure 6 in a row)
1m3s     app: exit code 1 under restartPolicy Always: restarts in 1m0s (failure 7 in a row)
2m3s     app: exit code 1 under restartPolicy Always: restarts in 1m0s (failure 8 in a row)
13m4s    app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
13m5s    app: exit code 1 under restartPolicy Always: restarts in 2s (failure 2 in a row)
23m7s    app: exit code 1 under restartPolicy Always: restarts in 4s (failure 3 in a row)
23m11s   app: exit code 1 under restartPolicy Always: restarts in 8s (failure 4 in a row)
23m19s   app: exit code 1 under restartPolicy Always: restarts in 16s (failure 5 in a row)
23m35s   app: exit code 1 under restartPolicy Always: restarts in 32s (failure 6 in a row)

# A worst case of the KEP: 9 minutes 59 seconds, always. In the first 30 minutes
# the container restarts twice.
pod until=30m
app ran=599s
----
9m59s    app: exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
20m8s    app: exit code 1 under restartPolicy Always: restarts in 20s (failure 2 in a row)
