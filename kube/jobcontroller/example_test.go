package jobcontroller_test

import (
	"context"
	"log"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// A program that runs the Jobs of one namespace. Of several replicas, only the holder
// of a Lease should run it, as in restart-job-controller.
func Example() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	controller, err := jobcontroller.New(kubernetes.NewForConfigOrDie(config), jobcontroller.Options{
		Namespace: "batch",
		Engine:    jobpolicy.Engine{BaseDelay: 30 * time.Second, StartReadyIndexes: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	prometheus.MustRegister(controller.Metrics())
	if err := controller.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
