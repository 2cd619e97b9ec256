package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// check prints whether the program would work here and returns the exit code.
func check(ctx context.Context, o *options, out io.Writer) int {
	c := &checker{out: out}
	n, err := dial(o.endpoint)
	if err == nil {
		defer n.close()
		var name string
		name, err = n.version(ctx)
		c.say(err, "container runtime at %s: %s", o.endpoint, name)
	} else {
		c.say(err, "container runtime")
	}
	if err == nil {
		c.logs(ctx, n)
	}
	if o.cluster(os.Getenv) {
		c.cluster(ctx, o)
	}
	if o.manifests != "" {
		pods, _, err := newManifests(o.manifests, o.node).read()
		c.say(err, "static pods in %s: %d", o.manifests, len(pods))
	}
	if c.wrong {
		return exitFailed
	}
	return exitOK
}

type checker struct {
	out   io.Writer
	wrong bool
}

// say prints the result of a part.
func (c *checker) say(err error, format string, args ...any) {
	word, more := "ok", ""
	if err != nil {
		word, more, c.wrong = "WRONG", ": "+err.Error(), true
	}
	fmt.Fprintf(c.out, "%-8s%s%s\n", word, strings.TrimSuffix(fmt.Sprintf(format, args...), ": "), more)
}

// logs looks for the log of a container that the kubelet has made, because a restart
// count continues that of its newest log.
func (c *checker) logs(ctx context.Context, n *node) {
	all, err := n.containers(ctx, nil)
	if err != nil {
		c.say(err, "containers")
		return
	}
	for _, container := range all {
		s, err := n.status(ctx, container.Id)
		if err != nil || s == nil || s.LogPath == "" || s.Annotations[annotationCount] == "" {
			continue
		}
		_, err = os.Stat(s.LogPath)
		c.say(err, "logs of containers, such as %s", s.LogPath)
		return
	}
	fmt.Fprintf(c.out, "%-8slogs of containers: none runs on this node\n", "unknown")
}

// rights are the ones of the manifests.
var rights = []struct{ verb, resource string }{
	{"list", "pods"}, {"watch", "pods"}, {"patch", "pods"}, {"create", "events"},
}

func (c *checker) cluster(ctx context.Context, o *options) {
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		c.say(err, "API server")
		return
	}
	k, err := newCluster(config, o.node, o.rules, nil)
	if err != nil {
		c.say(err, "API server")
		return
	}
	for _, r := range rights {
		err := k.may(ctx, r.verb, r.resource)
		c.say(err, "API server at %s: %s %s", config.Host, r.verb, r.resource)
	}
	switch v, err := k.kubelet(ctx); {
	case err != nil:
		fmt.Fprintf(c.out, "%-8skubelet of node %s: %v\n", "unknown", o.node, err)
	case !tested(v):
		fmt.Fprintf(c.out, "%-8skubelet of node %s: %s; tested are 1.36 and 1.37\n", "unknown", o.node, v)
	default:
		c.say(nil, "kubelet of node %s: %s", o.node, v)
	}
}

func tested(version string) bool {
	return strings.HasPrefix(version, "v1.36.") || strings.HasPrefix(version, "v1.37.")
}
