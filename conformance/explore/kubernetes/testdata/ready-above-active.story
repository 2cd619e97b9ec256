# the API server rejects the status: status.ready: invalid value 1: must not be above active
job starts watchOnly total=2 vanish=1 suspend=1
the controller creates a pod
the Job is suspended
the controller writes active 1: conflict
pod 1 starts
the watch shows the pods
the watch shows the Job
pod 1 vanishes
the controller removes the finalizer of pod 1
the controller writes ready 1, terminating 1, Suspended=True for JobSuspended
