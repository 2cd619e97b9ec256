# a pod is created for an ended index
job indexed watchOnly completions=2 total=2 vanish=1 unanswered=1
the controller creates a pod of index 0
pod 1 of index 0 succeeds
the controller writes active 1
the watch shows the Job
the watch shows the pods
the controller creates a pod of index 1
the controller writes active 1, succeeded 1, completed indexes 0: no answer
pod 2 of index 1 succeeds
pod 1 of index 0 vanishes
the watch shows the pods
the controller creates a pod of index 0
