# the API server rejects the status: status.failedIndexes: invalid value "0": index 0 is in completedIndexes too
job indexed watchOnly perIndex=0 total=2 delete=1 refuse=1
the controller creates a pod of index 0
the controller writes active 1
pod 1 of index 0 is deleted
the watch shows the pods
pod 1 of index 0 succeeds
the watch shows the Job
the controller writes terminating 1, failed indexes 0, uncounted failed 1, FailureTarget=True for FailedIndexes
the controller removes the finalizer of pod 1 of index 0: refused
the watch shows the Job
the watch shows the pods
the controller writes succeeded 1, completed indexes 0, failed indexes 0, uncounted failed 1, FailureTarget=True for FailedIndexes
