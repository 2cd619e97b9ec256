# The status that counts a released pod is refused, a later one counts it, and the next
# controller still sees the pod with its finalizer. Its end counts once.

job watchOnly parallelism=2 completions=3 delete=1 suspend=1 takeover=1 total=3
the controller creates a pod
the controller creates a pod
the controller writes active 2
the watch shows the Job
pod 1 is deleted
the watch shows the pods
the controller writes active 1, terminating 1, uncounted failed 1
the Job is suspended
the Job is resumed
the controller removes the finalizer of pod 1
the controller writes active 1, terminating 1, failed 1: conflict
the watch shows the Job
the controller writes active 1, terminating 1, failed 1
the watch shows the Job
another controller takes over
10s pass
the controller creates a pod
the controller writes active 2, terminating 1, failed 1
