package batch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// A manifest is defaulted, then validated.
func ExampleJobSpec_Validate() {
	var job batch.Job
	err := json.Unmarshal([]byte(`{"spec": {
		"completionMode": "Indexed", "completions": 3, "maxFailedIndexes": 5,
		"template": {"spec": {"restartPolicy": "Never"}}}}`), &job)
	if err != nil {
		panic(err)
	}
	job.Spec.Default()
	var mistakes field.Errors
	if errors.As(job.Spec.Validate(), &mistakes) {
		for _, m := range mistakes {
			fmt.Println(m.Type, m.Field)
		}
	}
	// Output:
	// Required spec.backoffLimitPerIndex
	// Invalid spec.maxFailedIndexes
}

func ExamplePod_FinishTime() {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &batch.Pod{ObjectMeta: batch.ObjectMeta{CreationTimestamp: noon}}
	fmt.Println(pod.FinishTime().Format(time.TimeOnly)) // nothing else is known
	for i, name := range []string{"main", "logger"} {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, batch.ContainerStatus{Name: name, State: batch.ContainerState{
			Terminated: &batch.ContainerStateTerminated{FinishedAt: noon.Add(time.Duration(i+1) * time.Minute)},
		}})
	}
	fmt.Println(pod.FinishTime().Format(time.TimeOnly)) // the last container's end
	// Output:
	// 12:00:00
	// 12:02:00
}
