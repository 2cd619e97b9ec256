package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
)

// completeTimeout bounds a request for completions, because a user waits for it at the
// prompt.
const completeTimeout = 3 * time.Second

// completeObjects completes a type, TYPE/NAME, or a name after a type.
func (p *program) completeObjects(c *cobra.Command, args []string, last string) ([]string, cobra.ShellCompDirective) {
	if name, _, found := strings.Cut(last, "/"); found {
		var all []string
		for _, object := range p.names(name) {
			all = append(all, name+"/"+object)
		}
		return startingWith(all, last), cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		return startingWith(p.names(args[0]), last), cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, t := range objectTypes {
		all = append(all, t.names[1]+"/")
	}
	return startingWith(all, last), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// names returns the names of a type's objects in the namespace.
func (p *program) names(typeName string) (names []string) {
	t := typeOf(typeName)
	if t == nil {
		return nil
	}
	*p.config.Timeout = completeTimeout.String()
	c, err := p.connect()
	if err != nil {
		return nil
	}
	// Completions that could be read are better than an error at the prompt.
	_ = p.builder(c, []string{t.resource()}, false).Do().Visit(func(info *resource.Info, err error) error {
		if err == nil {
			names = append(names, info.Name)
		}
		return err
	})
	return names
}

func (p *program) completeNamespaces(c *cobra.Command, _ []string, last string) ([]string, cobra.ShellCompDirective) {
	*p.config.Timeout = completeTimeout.String()
	cluster, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completeTimeout)
	defer cancel()
	list, err := cluster.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: pageSize})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return startingWith(names, last), cobra.ShellCompDirectiveNoFileComp
}

func (p *program) completeContexts(_ *cobra.Command, _ []string, last string) ([]string, cobra.ShellCompDirective) {
	raw, err := p.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return startingWith(slices.Sorted(maps.Keys(raw.Contexts)), last), cobra.ShellCompDirectiveNoFileComp
}

func startingWith(words []string, start string) (some []string) {
	for _, w := range words {
		if strings.HasPrefix(w, start) {
			some = append(some, w)
		}
	}
	return some
}
