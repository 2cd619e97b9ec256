package main

import (
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/kube/cmd/kubectl-restart/internal/explain"
)

// object names an object to explain. An empty name means all of the type.
type object struct{ kind, name string }

// typeNames maps the names of types to their kinds.
var typeNames = map[string]string{
	"pod": "Pod", "pods": "Pod", "po": "Pod",
	"job": "Job", "jobs": "Job", "job.batch": "Job", "jobs.batch": "Job",
}

// objectsOf parses arguments such as pod/x job/y, pod x y, and pods.
func objectsOf(args []string) ([]object, error) {
	if len(args) == 0 {
		return nil, usagef("explain what? Name objects, such as pod/web-0 or job/nightly")
	}
	var all []object
	if !strings.Contains(args[0], "/") {
		kind, ok := typeNames[strings.ToLower(args[0])]
		if !ok {
			return nil, usagef("%q is not a type; there are pod and job", args[0])
		}
		for _, name := range args[1:] {
			if name == "" || strings.Contains(name, "/") {
				return nil, usagef("%q: after the type %s, names have no type", name, args[0])
			}
			all = append(all, object{kind, name})
		}
		if len(args) == 1 {
			all = append(all, object{kind, ""})
		}
		return all, nil
	}
	for _, arg := range args {
		typ, name, found := strings.Cut(arg, "/")
		kind, ok := typeNames[strings.ToLower(typ)]
		if !found || !ok || name == "" || strings.Contains(name, "/") {
			return nil, usagef("%q: must be pod/NAME or job/NAME", arg)
		}
		all = append(all, object{kind, name})
	}
	return all, nil
}

// explain explains pods and Jobs.
func (p *program) explain() (int, error) {
	objects, err := objectsOf(p.o.args)
	if err != nil {
		return 0, err
	}
	listing := objects[0].name == ""
	switch {
	case !listing && p.o.selector != "":
		return 0, usagef("names and -l exclude each other")
	case !listing && p.o.all:
		return 0, usagef("names and -A exclude each other")
	}
	c, err := connect(p.o)
	if err != nil {
		return 0, err
	}
	var found []any
	code := exitOK
	if listing {
		found, err = p.explainAll(c, objects[0].kind)
	}
	for _, x := range objects {
		if listing || err != nil {
			break
		}
		var one any
		if one, err = p.explainOne(c, x); err == nil {
			found = append(found, one)
		} else if isMissing(err) {
			fmt.Fprintf(p.stderr, "kubectl-restart: %v\n", err)
			code, err = exitFound, nil
		}
	}
	if err != nil {
		return 0, err
	}
	if listing || len(objects) > 1 {
		return code, p.print(map[string]any{"items": orEmpty(found)}, func(w *explain.Printer) { printExplained(w, found) })
	}
	if len(found) == 0 {
		return code, nil
	}
	return code, p.print(found[0], func(w *explain.Printer) { printExplained(w, found) })
}

// orEmpty makes an empty list an empty JSON list.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func printExplained(w *explain.Printer, all []any) {
	for i, x := range all {
		if i > 0 {
			io.WriteString(w.W, "\n\n")
		}
		switch x := x.(type) {
		case explain.Pod:
			w.Pod(x)
		case explain.Job:
			w.Job(x)
		}
	}
}

func (p *program) explainOne(c *cluster, x object) (any, error) {
	what := fmt.Sprintf("%s %q%s", strings.ToLower(x.kind), x.name, c.in())
	if x.kind == "Pod" {
		pod, err := c.client.CoreV1().Pods(c.namespace).Get(p.in, x.name, metav1.GetOptions{})
		if err != nil {
			return nil, c.explainError(what, err)
		}
		return explain.OfPod(pod, p.facts()), nil
	}
	job, err := c.client.BatchV1().Jobs(c.namespace).Get(p.in, x.name, metav1.GetOptions{})
	if err != nil {
		return nil, c.explainError(what, err)
	}
	pods, err := c.podsOf(p.in, job)
	if err != nil {
		p.warn("%v; the Job is explained without its pods", err)
	}
	facts := p.facts()
	facts.ServerVersion = c.version()
	return explain.OfJob(job, pods, facts), nil
}

func (p *program) explainAll(c *cluster, kind string) (all []any, err error) {
	if kind == "Pod" {
		pods, err := c.pods(p.in, p.o.selector)
		for _, pod := range pods {
			all = append(all, explain.OfPod(pod, p.facts()))
		}
		return all, err
	}
	jobs, err := c.jobs(p.in, p.o.selector)
	if err != nil {
		return nil, err
	}
	pods, err := c.pods(p.in, "")
	if err != nil {
		p.warn("%v; Jobs are explained without their pods", err)
	}
	of := make(map[types.UID][]*corev1.Pod)
	for _, pod := range pods {
		if r := metav1.GetControllerOf(pod); r != nil {
			of[r.UID] = append(of[r.UID], pod)
		}
	}
	facts := p.facts()
	facts.ServerVersion = c.version()
	for _, job := range jobs {
		all = append(all, explain.OfJob(job, of[job.UID], facts))
	}
	return all, nil
}

// facts returns the options of explanations made now.
func (p *program) facts() explain.Options {
	return explain.Options{Now: p.now(), SyncFrequency: p.o.syncFrequency}
}

// compare compares pods' restarts.
func (p *program) compare() (int, error) {
	names := p.o.args
	if len(names) > 1 && typeNames[strings.ToLower(names[0])] == "Pod" {
		names = names[1:]
	}
	if len(names) == 0 {
		return 0, usagef("compare what? Name a pod, such as pod/web-0")
	}
	c, err := connect(p.o)
	if err != nil {
		return 0, err
	}
	type comparison struct {
		Namespace  string               `json:"namespace"`
		Name       string               `json:"name"`
		Containers []explain.Comparison `json:"containers"`
	}
	var all []comparison
	code := exitOK
	for _, name := range names {
		if typ, rest, found := strings.Cut(name, "/"); found {
			if typeNames[strings.ToLower(typ)] != "Pod" {
				return 0, usagef("%q: only pods can be compared", name)
			}
			name = rest
		}
		pod, err := c.client.CoreV1().Pods(c.namespace).Get(p.in, name, metav1.GetOptions{})
		switch err := c.explainError(fmt.Sprintf("pod %q%s", name, c.in()), err); {
		case err == nil:
			all = append(all, comparison{pod.Namespace, pod.Name, explain.Compare(pod, p.facts())})
		case isMissing(err):
			fmt.Fprintf(p.stderr, "kubectl-restart: %v\n", err)
			code = exitFound
		default:
			return 0, err
		}
	}
	return code, p.print(map[string]any{"items": orEmpty(all)}, func(w *explain.Printer) {
		for i, x := range all {
			if i > 0 {
				io.WriteString(w.W, "\n\n")
			}
			w.Compare(x.Namespace, x.Name, x.Containers)
		}
	})
}

func isMissing(err error) bool {
	_, missing := err.(notFoundError)
	return missing
}
