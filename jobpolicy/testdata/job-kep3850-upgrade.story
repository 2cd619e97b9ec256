# KEP-3850's manual test of upgrade, downgrade and upgrade ("Were upgrade and
# rollback tested?"): a Job of three long-running indexes with a limit of 1.

create completions=3 limit=1
----
active 3, ready 3, failed 0, failedIndexes ""
index 0, failure count "0"
index 1, failure count "0"
index 2, failure count "0"

# The first deletion of index 0 is tolerated …
delete index=0
----
active 3, ready 3, failed 1, failedIndexes ""
index 1, failure count "0"
index 2, failure count "0"
index 0, failure count "1"

# … the second is not: two pods stay, the failed index gets no other.
delete index=0
----
active 2, ready 2, failed 2, failedIndexes "0"
index 1, failure count "0"
index 2, failure count "0"

# Without the feature three pods run again and failedIndexes is gone. The counter
# of failures stays.
downgrade
----
active 3, ready 3, failed 2
index 1, failure count "0"
index 2, failure count "0"
index 0, failure count ""

# With it again a Job-wide limit is still in the specification, as the API server
# has filled it in by now; the index that had failed before runs.
upgrade limit=1
----
active 3, ready 3, failed 2, failedIndexes ""
index 1, failure count "0"
index 2, failure count "0"
index 0, failure count ""

# Index 1 has an older pod with its count, and fails at the second deletion.
delete index=1
----
active 3, ready 3, failed 3, failedIndexes ""
index 2, failure count "0"
index 0, failure count ""
index 1, failure count "1"

delete index=1
----
active 2, ready 2, failed 4, failedIndexes "1"
index 2, failure count "0"
index 0, failure count ""
