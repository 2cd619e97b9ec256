# the Job ends while a pod has not
job indexed watchOnly parallelism=2 completions=2 success=1 total=1 unanswered=1
the controller creates a pod of index 0
pod 1 of index 0 succeeds
the controller creates a pod of index 1: no answer
the controller writes active 1
the watch shows the pods, but not pod 2 of index 1
the watch shows the Job
the controller writes succeeded 1, completed indexes 0, SuccessCriteriaMet=True for SuccessPolicy
the controller removes the finalizer of pod 1 of index 0
the controller writes succeeded 1, completed indexes 0, SuccessCriteriaMet=True for SuccessPolicy, Complete=True for SuccessPolicy
