package main

import (
	"context"
	"errors"
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
	if o.inCluster {
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

// unknown prints a fact that could not be found out.
func (c *checker) unknown(format string, args ...any) {
	fmt.Fprintf(c.out, "%-8s%s\n", "unknown", fmt.Sprintf(format, args...))
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
	c.unknown("logs of containers: none runs on this node")
}

func (c *checker) cluster(ctx context.Context, o *options) {
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		c.say(err, "API server")
		return
	}
	k, err := newCluster(config, o, nil)
	if err != nil {
		c.say(err, "API server")
		return
	}
	for _, r := range rights {
		c.say(k.may(ctx, r), "API server at %s: %s", config.Host, r)
	}
	switch kubelet, err := k.verifyNode(ctx); {
	case errors.Is(err, errNodeUnknown):
		c.unknown("node %s: %v", o.node, err)
	case err != nil:
		c.say(err, "node %s", o.node)
	case kubelet == "":
		c.say(nil, "node %s; no right to read its kubelet's version", o.node)
	case !tested(kubelet):
		c.unknown("node %s: kubelet %s; tested are 1.36 and 1.37", o.node, kubelet)
	default:
		c.say(nil, "node %s: kubelet %s", o.node, kubelet)
	}
}

func tested(version string) bool {
	return strings.HasPrefix(version, "v1.36.") || strings.HasPrefix(version, "v1.37.")
}
