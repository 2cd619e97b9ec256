package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is a connection to an API server.
type cluster struct {
	client    kubernetes.Interface
	config    *rest.Config
	namespace string // of the objects; "" means all
	where     string // for messages, such as: context "prod", https://10.0.0.1:6443
	o         *options
}

func clientConfig(o *options) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	overrides.AuthInfo.Impersonate = o.as
	overrides.Context.Namespace = o.namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

func connect(o *options) (*cluster, error) {
	loader := clientConfig(o)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig is not usable: %s", oneLine(err))
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig is not usable: %s", oneLine(err))
	}
	c := &cluster{namespace: namespace, config: config, o: o, where: config.Host}
	if raw, err := loader.RawConfig(); err == nil {
		if name := firstOf(o.context, raw.CurrentContext); name != "" {
			c.where = fmt.Sprintf("context %q, %s", name, config.Host)
		}
	}
	if o.all {
		c.namespace = metav1.NamespaceAll
	}
	config.UserAgent = "kubectl-restart"
	config.Timeout = o.timeout
	config.QPS = -1 // a call makes few requests
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType = "application/vnd.kubernetes.protobuf" // several times as fast as JSON
	config.AcceptContentTypes = config.ContentType + ",application/json"
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("the kubeconfig is not usable: %s", oneLine(err))
	}
	return c, nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// oneLine returns an error's text in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// explainError makes an error of a request about some object readable.
func (c *cluster) explainError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return notFoundError{fmt.Errorf("%s does not exist", what)}
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not accept your credentials (%s)", c.where)
	case apierrors.IsForbidden(err):
		return forbiddenError{fmt.Errorf("you may not read %s: %s", what, oneLine(err))}
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
		return fmt.Errorf("the cluster refuses to read %s: %s (%s)", what, oneLine(err), c.where)
	}
	text := oneLine(err)
	var unreached *url.Error
	if !errors.As(err, &unreached) && !errors.Is(err, context.DeadlineExceeded) && status == nil {
		return fmt.Errorf("the answer of the cluster is not readable (%s): %s", c.where, text)
	}
	if errors.Is(err, context.DeadlineExceeded) || strings.Contains(text, "Client.Timeout") {
		text = fmt.Sprintf("no answer within %v; --request-timeout allows more", c.o.timeout)
	}
	return fmt.Errorf("the cluster does not answer (%s): %s", c.where, text)
}

// pageSize is the number of objects in an answer to a list request.
const pageSize = 500

// list reads all objects of a kind page by page. If the pages expire meanwhile, it reads
// everything at once.
func list[L interface{ GetContinue() string }, T any](ctx context.Context, o metav1.ListOptions, get func(context.Context, metav1.ListOptions) (L, error), items func(L) []T) ([]*T, error) {
	var all []*T
	o.Limit = pageSize
	for {
		page, err := get(ctx, o)
		if apierrors.IsResourceExpired(err) && o.Continue != "" {
			o.Continue, o.Limit, all = "", 0, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		objects := items(page)
		for i := range objects {
			all = append(all, &objects[i])
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return all, nil
		}
	}
}

func (c *cluster) pods(ctx context.Context, selector string) ([]*corev1.Pod, error) {
	pods, err := list(ctx, metav1.ListOptions{LabelSelector: selector}, c.client.CoreV1().Pods(c.namespace).List, func(l *corev1.PodList) []corev1.Pod { return l.Items })
	return pods, c.explainError("pods"+c.in(), err)
}

func (c *cluster) jobs(ctx context.Context, selector string) ([]*batchv1.Job, error) {
	jobs, err := list(ctx, metav1.ListOptions{LabelSelector: selector}, c.client.BatchV1().Jobs(c.namespace).List, func(l *batchv1.JobList) []batchv1.Job { return l.Items })
	return jobs, c.explainError("jobs"+c.in(), err)
}

// in names the namespace in a message.
func (c *cluster) in() string {
	if c.namespace == metav1.NamespaceAll {
		return " in all namespaces"
	}
	return fmt.Sprintf(" in namespace %q", c.namespace)
}

// podsOf returns the pods that a Job controls.
func (c *cluster) podsOf(ctx context.Context, job *batchv1.Job) ([]*corev1.Pod, error) {
	selector := labels.Set{batchv1.ControllerUidLabel: string(job.UID)}.String()
	if job.Spec.Selector != nil {
		selector = metav1.FormatLabelSelector(job.Spec.Selector)
	}
	pods, err := c.pods(ctx, selector)
	return controlledBy(job, pods), err
}

func controlledBy(job *batchv1.Job, pods []*corev1.Pod) (all []*corev1.Pod) {
	for _, p := range pods {
		if metav1.IsControlledBy(p, job) {
			all = append(all, p)
		}
	}
	return all
}

// version returns the API server's version, or "" if it does not tell.
func (c *cluster) version() string {
	v, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return ""
	}
	return v.GitVersion
}

// forbiddenError says that a right is missing.
type forbiddenError struct{ error }

func isForbidden(err error) bool {
	var f forbiddenError
	return errors.As(err, &f)
}
