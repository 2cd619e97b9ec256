# the Job completes without its completions
job watchOnly backoffLimit=1 total=2 delete=1 refuse=1
the controller creates a pod
the controller writes active 1
pod 1 is deleted
the watch shows the Job
the watch shows the pods
the controller writes terminating 1, uncounted failed 1
the controller removes the finalizer of pod 1: refused
the watch shows the Job
pod 1 succeeds
the watch shows the pods
the controller writes uncounted failed 1, SuccessCriteriaMet=True for CompletionsReached
