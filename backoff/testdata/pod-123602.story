# kubernetes#123602: the kubelet has no backoff for the first restart, so it comes
# at once, the second after 10s, and from then on 10s * 2^(restarts-2). One free
# failure gives that list; none the advertised one.

policy kubelet initial=10s max=300s reset=10m free=1
----

pod until=3m policy=kubelet
thing ran=10s
----
10s      thing: exit code 1 under restartPolicy Always: restarts at once (failure 1 in a row)
20s      thing: exit code 1 under restartPolicy Always: restarts in 10s (failure 2 in a row)
40s      thing: exit code 1 under restartPolicy Always: restarts in 20s (failure 3 in a row)
1m10s    thing: exit code 1 under restartPolicy Always: restarts in 40s (failure 4 in a row)
2m0s     thing: exit code 1 under restartPolicy Always: restarts in 1m20s (failure 5 in a row)

pod until=3m
thing ran=10s
----
10s      thing: exit code 1 under restartPolicy Always: restarts in 10s (failure 1 in a row)
30s      thing: exit code 1 under restartPolicy Always: restarts in 20s (failure 2 in a row)
1m0s     thing: exit code 1 under restartPolicy Always: restarts in 40s (failure 3 in a row)
1m50s    thing: exit code 1 under restartPolicy Always: restarts in 1m20s (failure 4 in a row)
