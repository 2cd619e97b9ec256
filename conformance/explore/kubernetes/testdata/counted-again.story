# a pod's end is recorded twice
job watchOnly backoffLimit=1 total=2 delete=1 unanswered=1
the controller creates a pod
the controller writes active 1
pod 1 is deleted
the watch shows the Job
the watch shows the pods
the controller writes terminating 1, uncounted failed 1
the controller removes the finalizer of pod 1: no answer
the watch shows the Job
pod 1 succeeds
the controller removes the finalizer of pod 1
the controller writes terminating 1, failed 1
the watch shows the Job
the controller writes terminating 1, failed 1, uncounted failed 1, FailureTarget=True for BackoffLimitExceeded
