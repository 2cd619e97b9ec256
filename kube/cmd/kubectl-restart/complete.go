package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// completeVerb asks for completions of the last argument, as kubectl does through the
// program kubectl_complete-restart.
const completeVerb = "__complete"

// The last line of completions says what the shell does with them.
const (
	noFiles      = ":4" // offers no files instead
	noFilesSpace = ":6" // nor appends a space
)

// completeTimeout bounds a request for completions, because a user waits for it at the
// prompt.
const completeTimeout = 3 * time.Second

// complete prints the completions of the last argument, one in a line.
func (p *program) complete(args []string) int {
	words, last := args, ""
	if n := len(args); n > 0 {
		words, last = args[:n-1], args[n-1]
	}
	found, end := p.completions(words, last)
	for _, word := range found {
		fmt.Fprintln(p.stdout, word)
	}
	fmt.Fprintln(p.stdout, end)
	return exitOK
}

func (p *program) completions(words []string, last string) (found []string, end string) {
	o := newOptions()
	o.flags.ParseErrorsAllowlist.UnknownFlags = true
	flag := openFlag(o.flags, words)
	if flag != nil {
		words = words[:len(words)-1]
	}
	if err := o.flags.Parse(words); err != nil {
		return nil, noFiles
	}
	o.timeout = p.completeTimeout
	p.o = o
	args := o.flags.Args()
	switch {
	case flag != nil:
		return p.flagValues(flag.Name, last), noFiles
	case strings.HasPrefix(last, "-"):
		return p.flagNames(args, last), noFiles
	case len(args) == 0:
		return startingWith(verbNames(), last), noFiles
	case args[0] == "explain" || args[0] == "compare":
		return p.objectNames(args, last)
	}
	return nil, noFiles
}

// openFlag returns the flag whose value is the next word, or nil.
func openFlag(flags *pflag.FlagSet, words []string) *pflag.Flag {
	if len(words) == 0 {
		return nil
	}
	word := words[len(words)-1]
	var f *pflag.Flag
	switch {
	case strings.HasPrefix(word, "--"):
		f = flags.Lookup(word[2:])
	case len(word) == 2 && word[0] == '-' && word[1] != '-':
		f = flags.ShorthandLookup(word[1:])
	}
	if f == nil || f.NoOptDefVal != "" {
		return nil
	}
	return f
}

func (p *program) flagNames(args []string, last string) (names []string) {
	some := slices.Clone(commonFlags)
	if len(args) > 0 {
		for _, v := range verbs() {
			if v.name == args[0] {
				some = append(some, v.flags...)
			}
		}
	}
	for _, name := range some {
		names = append(names, "--"+name)
	}
	slices.Sort(names)
	return startingWith(names, last)
}

func (p *program) flagValues(name, last string) []string {
	switch name {
	case "output":
		return startingWith([]string{"json", "yaml"}, last)
	case "context":
		raw, err := clientConfig(p.o).RawConfig()
		if err != nil {
			return nil
		}
		var names []string
		for name := range raw.Contexts {
			names = append(names, name)
		}
		slices.Sort(names)
		return startingWith(names, last)
	case "namespace":
		c, err := connect(p.o)
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(p.in, p.completeTimeout)
		defer cancel()
		list, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: pageSize})
		if err != nil {
			return nil
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return startingWith(names, last)
	}
	return nil
}

// objectNames completes TYPE/NAME, or NAME after a type.
func (p *program) objectNames(args []string, last string) ([]string, string) {
	kinds := []string{"pod", "job"}
	if args[0] == "compare" {
		kinds = kinds[:1]
	}
	if typ, _, found := strings.Cut(last, "/"); found {
		var all []string
		for _, name := range p.names(typeNames[strings.ToLower(typ)]) {
			all = append(all, typ+"/"+name)
		}
		return startingWith(all, last), noFiles
	}
	if len(args) > 1 && !strings.Contains(args[1], "/") {
		if kind := typeNames[strings.ToLower(args[1])]; kind != "" {
			return startingWith(p.names(kind), last), noFiles
		}
	}
	var all []string
	for _, kind := range kinds {
		all = append(all, kind+"/")
	}
	return startingWith(all, last), noFilesSpace
}

// names returns the names of objects in the namespace.
func (p *program) names(kind string) (names []string) {
	c, err := connect(p.o)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.in, p.completeTimeout)
	defer cancel()
	switch kind {
	case "Pod":
		pods, _ := c.pods(ctx, "")
		for _, x := range pods {
			names = append(names, x.Name)
		}
	case "Job":
		jobs, _ := c.jobs(ctx, "")
		for _, x := range jobs {
			names = append(names, x.Name)
		}
	}
	return names
}

func startingWith(words []string, start string) (some []string) {
	for _, w := range words {
		if strings.HasPrefix(w, start) {
			some = append(some, w)
		}
	}
	return some
}
