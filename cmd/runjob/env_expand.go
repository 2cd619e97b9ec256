package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// resolve returns a container's command line and the environment of its process, which
// is that of this machine overridden by the container's variables. As in Kubernetes,
// $(NAME) in a command or argument refers to the container's variables only.
func resolve(machine []string, own *expander, c batch.Container) (argv, env []string, err error) {
	for _, word := range slices.Concat(c.Command, c.Args) {
		if word, err = own.expand(word); err != nil {
			return nil, nil, err
		}
		argv = append(argv, word)
	}
	for _, entry := range machine {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := own.variables[name]; !replaced {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own.variables)) {
		env = append(env, name+"="+own.variables[name])
	}
	return argv, env, nil
}

// mostExpanded limits the bytes of a container's words and variables. Each variable can
// repeat earlier ones, so without the limit a short manifest could exhaust the memory.
// Manifests stay far below the limit, and processes accept less.
const mostExpanded = 4 << 20

var errExpanded = errors.New("the command and variables are too long after every $(NAME) is replaced")

// expander replaces variables in the texts of one container.
type expander struct {
	variables map[string]string
	used      int // bytes of the texts so far
}

// expand replaces every $(NAME) with the variable's value. It leaves unset variables
// alone and turns $$ into $.
func (e *expander) expand(text string) (string, error) {
	var b strings.Builder
	closing := strings.Contains(text, ")") // a ")" is still ahead
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if e.used+b.Len() > mostExpanded {
			return "", errExpanded
		}
		if !found {
			e.used += b.Len()
			return b.String(), nil
		}
		var name, rest string
		isName := false
		if closing && strings.HasPrefix(after, "(") {
			name, rest, isName = strings.Cut(after[1:], ")")
			closing = isName
		}
		value, set := e.variables[name]
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			text = after[1:]
		case !isName:
			b.WriteByte('$')
			text = after
		case !set:
			b.WriteString("$(" + name + ")")
			text = rest
		default:
			b.WriteString(value)
			text = rest
		}
	}
}

// variables returns the variables set for every container of the pod.
func variables(pod *batch.Pod) map[string]string {
	variables := map[string]string{"HOSTNAME": pod.Name}
	if index, ok := pod.Annotations[batch.JobCompletionIndexAnnotation]; ok {
		variables["JOB_COMPLETION_INDEX"] = index
	}
	return variables
}
