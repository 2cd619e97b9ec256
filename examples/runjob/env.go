package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/restartkit/restart/jobpolicy"
)

// resolve works out the words of a container's command and the environment that
// its process sees: this machine's, then the container's own variables. As in
// Kubernetes $(NAME) in a command or an argument stands for a variable of the
// container, not of the machine.
func resolve(machine []string, own map[string]string, c jobpolicy.Container) (argv, env []string) {
	for _, word := range slices.Concat(c.Command, c.Args) {
		argv = append(argv, expand(word, own))
	}
	for _, entry := range machine {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := own[name]; !replaced {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, name+"="+own[name])
	}
	return argv, env
}

// expand replaces every $(NAME) by the variable's value. One that is not set
// stays as it is, and $$ stands for a $ that begins nothing.
func expand(text string, variables map[string]string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, isName := cutName(after)
		value, set := variables[name]
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

// cutName takes (NAME) off the front of text.
func cutName(text string) (name, rest string, ok bool) {
	inner, ok := strings.CutPrefix(text, "(")
	if !ok {
		return "", text, false
	}
	return strings.Cut(inner, ")")
}
