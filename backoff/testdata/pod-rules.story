# Restart rules (KEP-5307) and limits.

# A trainer is restarted for one exit code only.
pod until=1m
trainer ran=5s,5s,5s code=42,42,1 restart=Never in=42
----
5s       trainer: exit code 42 is In [42] of restartPolicyRules[0]: restarts in 10s (failure 1 in a row)
20s      trainer: exit code 42 is In [42] of restartPolicyRules[0]: restarts in 20s (failure 2 in a row)
45s      trainer: exit code 1 under restartPolicy Never: not restarted

# OnFailure ends with success.
pod until=1m
job ran=5s code=1,0 restart=OnFailure
----
5s       job: exit code 1 under restartPolicy OnFailure: restarts in 10s (failure 1 in a row)
20s      job: exit code 0 under restartPolicy OnFailure: not restarted

# Three restarts in a minute, then no more.
policy flat initial=1s max=1s
----

pod until=1m limit=3 window=1m policy=flat
app ran=5s
----
5s       app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
11s      app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
17s      app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
23s      app: exit code 1 under restartPolicy Always: given up, the limit of restarts is used up (failure 1 in a row)

# Spread out, they never use the limit up.
pod until=2m limit=3 window=1m policy=flat
app ran=20s
----
20s      app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
41s      app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
1m2s     app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
1m23s    app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
1m44s    app: exit code 1 under restartPolicy Always: restarts in 1s (failure 1 in a row)
