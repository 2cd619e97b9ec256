# a pod is created beside an active one of its index
job indexed watchOnly perIndex=1 total=1 unanswered=1
the controller creates a pod of index 0: no answer
the controller writes an empty status
the watch shows the Job
the controller creates a pod of index 0
