package testenv

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// startCluster starts the scheduler, the controller manager and the kubelet, and returns
// when a pod in the namespace default can run.
func (e *Environment) startCluster(ctx context.Context) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	flags := func(port string) []string {
		return slices.Concat([]string{
			"--kubeconfig=" + e.Kubeconfig(),
			"--authentication-kubeconfig=" + e.Kubeconfig(),
			"--authorization-kubeconfig=" + e.Kubeconfig(),
			"--bind-address=127.0.0.1",
			"--secure-port=" + port,
			"--tls-cert-file=" + e.identity.certificateFile,
			"--tls-private-key-file=" + e.identity.keyFile,
			"--leader-elect=false",
			"--profiling=false",
		}, e.options.gates())
	}
	managerFlags := append(flags(ports[0]),
		"--service-account-private-key-file="+e.identity.keyFile,
		"--root-ca-file="+e.identity.certificateFile)
	if e.options.Controllers != nil {
		managerFlags = append(managerFlags, "--controllers="+strings.Join(e.options.Controllers, ","))
	}
	manager, err := e.guard.start("kube-controller-manager", e.programs.ControllerManager, managerFlags...)
	if err != nil {
		return err
	}
	scheduler, err := e.guard.start("kube-scheduler", e.programs.Scheduler, flags(ports[1])...)
	if err != nil {
		return err
	}
	if err := e.node.startKubelet(ctx); err != nil {
		return err
	}
	if err := e.awaitHealthy(ctx, scheduler, "https://127.0.0.1:"+ports[1]+"/healthz"); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(e.Config())
	if err != nil {
		return err
	}
	hasAccount := func() bool {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	}
	if err := manager.await(ctx, hasAccount); err != nil {
		return err
	}
	return e.node.kubelet.await(ctx, func() bool {
		node, err := client.CoreV1().Nodes().Get(ctx, e.node.Name(), metav1.GetOptions{})
		return err == nil && ready(node)
	})
}

// ready reports whether pods can be bound to the node. The controller manager removes
// the taint of a new node once it is Ready.
func ready(node *corev1.Node) bool {
	return len(node.Spec.Taints) == 0 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
