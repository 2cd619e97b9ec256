// Command jobplan computes the Job controller's next steps for an Indexed Job with some
// completed indexes.
//
// It prints:
//
//	create a pod of index 5
//	create a pod of index 6
//	create a pod of index 8
//	error: <nil>
package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

const manifest = `{"spec": {"completionMode": "Indexed", "completions": 1000, "parallelism": 3},
	"status": {"completedIndexes": "0-4,7"}}`

func main() {
	var job batch.Job
	if err := json.Unmarshal([]byte(manifest), &job); err != nil {
		panic(err)
	}
	plan, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: &job, Now: time.Now()})
	for _, pod := range plan.Create {
		fmt.Println("create a pod of index", pod.Index)
	}
	fmt.Println("error:", err)
}
