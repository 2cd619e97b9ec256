package jobrun

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// commandLine returns a container's command line and the environment of its process,
// which is that of this machine overridden by the container's variables. As in
// Kubernetes, $(NAME) in a command or argument refers to the container's variables only.
func (h *host) commandLine(pod *batch.Pod, c *corev1.Container) (argv, env []string, err error) {
	own := expander{variables: map[string]string{"HOSTNAME": pod.Name}}
	if index, ok := pod.Annotations[batch.JobCompletionIndexAnnotation]; ok {
		own.variables[batch.JobCompletionIndexEnv] = index
	}
	for i := range c.EnvFrom {
		for name, value := range h.values {
			own.variables[c.EnvFrom[i].Prefix+name] = value
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		if v.ValueFrom != nil {
			if value, found := valueFrom(pod, v, h.values); found {
				own.variables[v.Name] = value
			}
			continue
		}
		if own.variables[v.Name], err = own.expand(v.Value); err != nil {
			return nil, nil, err
		}
	}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if word, err = own.expand(word); err != nil {
			return nil, nil, err
		}
		argv = append(argv, word)
	}
	for _, entry := range h.machine {
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

// valueFrom returns the value of a variable that comes from somewhere else. Values of
// that name win, which stand in for Secrets and all that this machine does not have;
// keys of Secrets and ConfigMaps are looked up by the key, too.
func valueFrom(pod *batch.Pod, v *corev1.EnvVar, values map[string]string) (value string, found bool) {
	source, key := v.ValueFrom, ""
	switch {
	case source.FieldRef != nil:
		if value, found := fieldOf(pod, source.FieldRef.FieldPath); found {
			return value, true
		}
	case source.SecretKeyRef != nil:
		key = source.SecretKeyRef.Key
	case source.ConfigMapKeyRef != nil:
		key = source.ConfigMapKeyRef.Key
	}
	if value, found = values[v.Name]; !found {
		value, found = values[key]
	}
	return value, found
}

// metadataKey matches the path of one annotation or label of a pod.
var metadataKey = regexp.MustCompile(`^metadata\.(annotations|labels)\['(.*)'\]$`)

// fieldOf returns the value of a pod's field, "" if it is not set. found is false for
// fields that pods do not have here.
func fieldOf(pod *batch.Pod, path string) (value string, found bool) {
	switch path {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return pod.UID, true
	case "spec.nodeName":
		name, err := os.Hostname()
		return name, err == nil
	case "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs":
		return "127.0.0.1", true
	}
	of := metadataKey.FindStringSubmatch(path)
	switch {
	case of == nil:
		return "", false
	case of[1] == "annotations":
		return pod.Annotations[of[2]], true
	}
	return pod.Labels[of[2]], true
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

// missingValue says what a value of Options.Values must be for a variable, or returns ""
// if it has a value or needs none.
func missingValue(v *corev1.EnvVar, values map[string]string) string {
	if _, found := valueFrom(&batch.Pod{}, v, values); found {
		return ""
	}
	source := v.ValueFrom
	keyed := func(kind, name, key string, optional *bool) string {
		if optional != nil && *optional {
			return ""
		}
		return fmt.Sprintf("key %s of the %s %s is not known here: write %s=… or %s=… into a file for --env-file", key, kind, name, v.Name, key)
	}
	switch {
	case source.SecretKeyRef != nil:
		return keyed("Secret", source.SecretKeyRef.Name, source.SecretKeyRef.Key, source.SecretKeyRef.Optional)
	case source.ConfigMapKeyRef != nil:
		return keyed("ConfigMap", source.ConfigMapKeyRef.Name, source.ConfigMapKeyRef.Key, source.ConfigMapKeyRef.Optional)
	case source.FieldRef != nil:
		return fmt.Sprintf("a process has no %s: write %s=… into a file for --env-file", source.FieldRef.FieldPath, v.Name)
	}
	return fmt.Sprintf("a process has no such value: write %s=… into a file for --env-file", v.Name)
}
