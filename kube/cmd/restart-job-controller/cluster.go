package main

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster holds the clients of a cluster. The Lease has a client of its own, so that
// other requests cannot delay its renewal. So has the metrics' guard, so that its
// requests cannot delay Jobs.
type cluster struct {
	jobs, lease, guard kubernetes.Interface
	namespace          string // of this process's pod, or of the kubeconfig's context
}

// connect reads the configuration of the cluster. It makes no request.
func connect(o *options) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context})
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) && o.kubeconfig == "" {
		return nil, fmt.Errorf("no configuration of the cluster: %s is missing or empty, and the program does not run in a pod; use -kubeconfig FILE", rules.GetDefaultFilename())
	}
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("configuration of the cluster: -kubeconfig %s names no cluster", o.kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration of the cluster: %w", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("configuration of the cluster: %w", err)
	}
	return newCluster(config, namespace, o)
}

func newCluster(config *rest.Config, namespace string, o *options) (*cluster, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "restart-job-controller")
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	guard := rest.CopyConfig(config)
	lease := rest.CopyConfig(config)
	lease.Timeout = o.renewDeadline / 2 // leaves time for another request if one hangs
	config.QPS, config.Burst = float32(o.qps), o.burst
	if o.qps == 0 {
		config.QPS = -1
	}
	c := &cluster{namespace: namespace}
	var err error
	if c.jobs, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client for Jobs: %w", err)
	}
	if c.lease, err = kubernetes.NewForConfig(lease); err != nil {
		return nil, fmt.Errorf("client for the Lease: %w", err)
	}
	if c.guard, err = kubernetes.NewForConfig(guard); err != nil {
		return nil, fmt.Errorf("client for tokens: %w", err)
	}
	return c, nil
}
