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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// cluster is a connection to an API server.
type cluster struct {
	client    kubernetes.Interface
	config    *rest.Config
	namespace string // of the objects; "" means all
	where     string // for messages, such as: context "prod", https://10.0.0.1:6443
	timeout   string
}

func (p *program) connect() (*cluster, error) {
	unusable := func(err error) error {
		return &exitError{exitCluster, fmt.Errorf("the kubeconfig is not usable: %s", oneLine(err))}
	}
	loader := p.config.ToRawKubeConfigLoader()
	config, err := p.config.ToRESTConfig()
	if err != nil {
		return nil, unusable(err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, unusable(err)
	}
	c := &cluster{namespace: namespace, config: config, where: config.Host, timeout: *p.config.Timeout}
	if raw, err := loader.RawConfig(); err == nil {
		name := raw.CurrentContext
		if *p.config.Context != "" {
			name = *p.config.Context
		}
		if name != "" {
			c.where = fmt.Sprintf("context %q, %s", name, config.Host)
		}
	}
	if p.allNamespaces {
		c.namespace = metav1.NamespaceAll
	}
	config.UserAgent = "kubectl-backoff"
	config.QPS = -1 // a call makes few requests
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType = "application/vnd.kubernetes.protobuf" // several times as fast as JSON
	config.AcceptContentTypes = config.ContentType + ",application/json"
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, unusable(err)
	}
	// A cluster that does not answer is noticed by one request, not by one for each type.
	var unreached *url.Error
	if _, err := c.client.Discovery().ServerVersion(); errors.As(err, &unreached) {
		return nil, c.explainError("its version", err)
	}
	return c, nil
}

// oneLine returns an error's text in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// explainError makes an error of a request about some object readable, and gives it an
// exit code.
func (c *cluster) explainError(what string, err error) error {
	fail := func(code int, format string, args ...any) error {
		return &exitError{code, fmt.Errorf(format, args...)}
	}
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fail(exitFailed, "%s does not exist", what)
	case apierrors.IsUnauthorized(err):
		return fail(exitCluster, "the cluster does not accept your credentials (%s)", c.where)
	case apierrors.IsForbidden(err):
		return &exitError{exitCluster, forbiddenError{fmt.Errorf("you may not read %s: %s", what, oneLine(err))}}
	case apierrors.IsBadRequest(err):
		return fail(exitUsage, "the cluster refuses to read %s: %s", what, oneLine(err)) // such as a wrong selector
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
		return fail(exitCluster, "the cluster refuses to read %s: %s (%s)", what, oneLine(err), c.where)
	}
	text := oneLine(err)
	var unreached *url.Error
	if !errors.As(err, &unreached) && !errors.Is(err, context.DeadlineExceeded) && status == nil {
		return fail(exitCluster, "the answer of the cluster is not readable (%s): %s", c.where, text)
	}
	if errors.Is(err, context.DeadlineExceeded) || strings.Contains(text, "Client.Timeout") {
		text = fmt.Sprintf("no answer within %s; --request-timeout allows more", c.timeout)
	}
	return fail(exitCluster, "the cluster does not answer (%s): %s", c.where, text)
}

// forbiddenError says that a right is missing.
type forbiddenError struct{ error }

func isForbidden(err error) bool {
	var f forbiddenError
	return errors.As(err, &f)
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

func (c *cluster) pods(ctx context.Context, namespace string, o metav1.ListOptions) ([]*corev1.Pod, error) {
	pods, err := list(ctx, o, c.client.CoreV1().Pods(namespace).List, func(l *corev1.PodList) []corev1.Pod { return l.Items })
	return pods, c.explainError("pods"+in(namespace), err)
}

func (c *cluster) jobs(ctx context.Context, namespace string, o metav1.ListOptions) ([]*batchv1.Job, error) {
	jobs, err := list(ctx, o, c.client.BatchV1().Jobs(namespace).List, func(l *batchv1.JobList) []batchv1.Job { return l.Items })
	return jobs, c.explainError("jobs"+in(namespace), err)
}

func (c *cluster) events(ctx context.Context, namespace, fields string) ([]*corev1.Event, error) {
	events, err := list(ctx, metav1.ListOptions{FieldSelector: fields}, c.client.CoreV1().Events(namespace).List, func(l *corev1.EventList) []corev1.Event { return l.Items })
	return events, c.explainError("events"+in(namespace), err)
}

// in names the namespace in a message.
func in(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return " in all namespaces"
	}
	return fmt.Sprintf(" in namespace %q", namespace)
}
