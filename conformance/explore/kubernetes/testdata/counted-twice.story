# a pod's end is recorded twice
job watchOnly completions=2 total=1 takeover=1
the controller creates a pod
pod 1 succeeds
the controller writes active 1
the watch shows the pods
the watch shows the Job
the controller creates a pod
the controller writes active 1, uncounted succeeded 1
the controller removes the finalizer of pod 1
the controller writes active 1, succeeded 1
another controller takes over
the watch shows the Job
the controller writes succeeded 1, uncounted succeeded 1, SuccessCriteriaMet=True for CompletionsReached
