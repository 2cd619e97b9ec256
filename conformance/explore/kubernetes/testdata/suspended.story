# the API server rejects the status: status.startTime: required: a finished Job has one
job watchOnly total=1 suspend=1
the Job is suspended
the controller creates a pod
pod 1 succeeds
the controller writes active 1: conflict
the watch shows the pods
the watch shows the Job
the controller writes uncounted succeeded 1, SuccessCriteriaMet=True for CompletionsReached
the controller removes the finalizer of pod 1
the controller writes succeeded 1, SuccessCriteriaMet=True for CompletionsReached, Complete=True for CompletionsReached
