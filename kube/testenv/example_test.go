package testenv_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/kube/testenv"
)

// An API server on which every pod runs for a second and then fails.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{Log: os.Stderr})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Stop()
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{
		Config: env.Config(),
		Script: func(*corev1.Pod) testenv.Outcome {
			return testenv.Outcome{Run: time.Second, ExitCodes: []int32{1}}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- kubelet.Run(ctx) }()
	fmt.Println("try kubectl --kubeconfig", env.Kubeconfig())
	// … code under test …
	cancel()
	<-ended
}
