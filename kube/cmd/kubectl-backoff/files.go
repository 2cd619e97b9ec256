package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/restartkit/restart/kube/check"
	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// mostFile is the size of the largest file read, in bytes.
const mostFile = 256 << 20

// filed is the content of files.
type filed struct {
	targets []metav1.Object // everything that can be explained, in the order of the files
	events  []*corev1.Event
	nodes   []*corev1.Node
	files   int
	objects int       // of any kind, lists included
	unread  []string  // files and documents that could not be read, with the reason
	latest  time.Time // of all times in the files that are not in the future
	said    time.Time // what a comment says about the time of the objects
	now     time.Time
}

// fromFiles reads the objects of files, and selects those that the arguments name.
func (p *program) fromFiles(args []string) (*selection, error) {
	arguments, named, err := canonical(args)
	switch {
	case err != nil:
		return nil, err
	case named && p.selector != "":
		return nil, usagef("names and selectors exclude each other")
	}
	f := &filed{now: p.now()}
	for _, name := range p.files {
		if err := f.read(name, p.In, p.recursive); err != nil {
			return nil, usagef("%w", err)
		}
	}
	for i, text := range f.unread {
		if i == mostWarnings {
			p.warn("and %d more could not be read", len(f.unread)-i)
			break
		}
		p.warn("%s", text)
	}
	switch {
	case len(f.targets) == 0 && len(f.unread) > 0:
		return nil, usagef("nothing to explain could be read")
	case f.objects == 0:
		return nil, usagef("no Kubernetes objects%s; they are in the output of kubectl get with -o yaml or json, not in its tables", p.where())
	}
	if err := p.setTime(f); err != nil {
		return nil, err
	}
	s := &selection{named: named}
	s.objects.Events, s.objects.Nodes, s.objects.Partial = f.events, f.nodes, "not in the files"
	f.setNamespaces(p.defaultNamespace())
	for _, t := range f.targets {
		switch t := t.(type) {
		case *corev1.Pod:
			s.objects.Pods = append(s.objects.Pods, t)
		case *batchv1.Job:
			s.objects.Jobs = append(s.objects.Jobs, t)
		}
	}
	if len(args) == 0 {
		arguments = nil
	}
	return s, p.selectFrom(f.targets, arguments, s)
}

// mostWarnings is how many unreadable files are named.
const mostWarnings = 5

// setTime sets the time at which the objects were taken.
func (p *program) setTime(f *filed) error {
	switch {
	case p.at != "":
		at, err := time.Parse(time.RFC3339, p.at)
		if err != nil {
			return usagef("--at %q: must be a time such as 2026-11-01T12:00:00Z", p.at)
		}
		p.taken = at
	case !f.said.IsZero():
		p.taken = f.said
	case !f.latest.IsZero() && f.now.Sub(f.latest) > 24*time.Hour:
		p.taken = f.latest
		if p.output == "" {
			fmt.Fprintf(p.ErrOut, "as of %s, the latest time in the files; --at sets another\n", f.latest.Format(time.RFC3339))
		}
	case !f.latest.IsZero() && f.now.Sub(f.latest) > time.Minute:
		p.undated = true
		if p.output == "" {
			fmt.Fprintf(p.ErrOut, "as of now (%s); the latest time in the files is %s earlier; --at sets another\n", f.now.Format(time.TimeOnly), explain.Short(f.now.Sub(f.latest)))
		}
	}
	return nil
}

// selectFrom sets the targets that the arguments and flags select. The arguments are as
// canonical returns them, or none.
func (p *program) selectFrom(all []metav1.Object, arguments []string, s *selection) error {
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return usagef("--selector %q: %w", p.selector, err)
	}
	wanted := func(o metav1.Object) bool {
		return (*p.config.Namespace == "" || o.GetNamespace() == *p.config.Namespace) && selector.Matches(labels.Set(o.GetLabels()))
	}
	if !s.named {
		var kinds []string
		for _, name := range arguments {
			kinds = append(kinds, typeOf(name).kind.Kind)
		}
		for _, o := range all {
			if wanted(o) && (len(kinds) == 0 && isPrimary(o, all) || slices.Contains(kinds, kindOf(o))) {
				s.targets = append(s.targets, o)
			}
		}
		return nil
	}
	for _, argument := range arguments {
		typeName, name, _ := strings.Cut(argument, "/")
		t := typeOf(typeName)
		found := false
		for _, o := range all {
			if o.GetName() == name && kindOf(o) == t.kind.Kind && wanted(o) {
				s.targets = append(s.targets, o)
				found = true
			}
		}
		if !found {
			s.missing = append(s.missing, fmt.Errorf("the files have no %s %q", t.names[1], name))
		}
	}
	return nil
}

// isPrimary reports whether an object of files is explained when none is named. A
// workload is not, if the pods themselves are there.
func isPrimary(o metav1.Object, all []metav1.Object) bool {
	switch o.(type) {
	case *corev1.Pod, *batchv1.Job:
		return true
	}
	return !slices.ContainsFunc(all, func(o metav1.Object) bool {
		switch o.(type) {
		case *corev1.Pod, *batchv1.Job:
			return true
		}
		return false
	})
}

func kindOf(o metav1.Object) string {
	switch o.(type) {
	case *corev1.Pod:
		return "Pod"
	case *batchv1.Job:
		return "Job"
	}
	owner, _ := ownerOf(o)
	return owner.Kind
}

// defaultNamespace is the namespace of objects in files that name none. As in kubectl
// apply, it is that of -n; the one of the current context does not count, because files
// need no cluster.
func (p *program) defaultNamespace() string {
	return cmp.Or(*p.config.Namespace, metav1.NamespaceDefault)
}

// setNamespaces gives objects without a namespace the default one.
func (f *filed) setNamespaces(namespace string) {
	for _, o := range f.targets {
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
	}
	for _, e := range f.events {
		if e.InvolvedObject.Namespace == "" {
			e.InvolvedObject.Namespace = namespace
		}
	}
}

// read reads a file, a folder, or standard input for -.
func (f *filed) read(name string, stdin io.Reader, recursive bool) error {
	if name == "-" {
		f.add("standard input", stdin)
		return nil
	}
	for _, source := range check.Sources(recursive, name) {
		switch {
		case source.Err == nil:
			f.open(source.Name)
		case source.Named:
			return fmt.Errorf("%s: %w", source.Name, source.Err)
		default:
			f.unread = append(f.unread, fmt.Sprintf("%s: %s", source.Name, oneLine(source.Err)))
		}
	}
	return nil
}

func (f *filed) open(name string) {
	file, err := os.Open(name)
	if err != nil {
		f.unread = append(f.unread, oneLine(err))
		return
	}
	defer file.Close()
	f.add(name, file)
}

var (
	timeText    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	commentTime = regexp.MustCompile(`(?m)^# ?now: (\S+)\s*$`)
)

// add adds the objects of a file.
func (f *filed) add(name string, r io.Reader) {
	f.files++
	text, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	switch {
	case err != nil:
		f.unread = append(f.unread, fmt.Sprintf("%s: %s", name, oneLine(err)))
		return
	case len(text) > mostFile:
		f.unread = append(f.unread, fmt.Sprintf("%s: larger than %d MiB", name, mostFile>>20))
		return
	}
	if m := commentTime.FindSubmatch(text); m != nil {
		if at, err := time.Parse(time.RFC3339, string(m[1])); err == nil {
			f.said = at
		}
	}
	for _, m := range timeText.FindAll(text, -1) {
		if at, err := time.Parse(time.RFC3339, string(m)); err == nil && at.After(f.latest) && !at.After(f.now) {
			f.latest = at
		}
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.unread = append(f.unread, fmt.Sprintf("%s, document %d: %s", name, n, oneLine(err)))
			var syntax yaml.YAMLSyntaxError
			if errors.As(err, &syntax) {
				continue // the next document may be readable
			}
			return
		}
		f.addObject(fmt.Sprintf("%s, document %d", name, n), raw, "")
	}
}

// addObject adds an object, or the items of a list. kind is that of an item which does
// not say.
func (f *filed) addObject(where string, text json.RawMessage, kind string) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return
	}
	if text[0] == '[' {
		f.objects++
		var items []json.RawMessage
		if json.Unmarshal(text, &items) == nil {
			for _, item := range items {
				f.addObject(where, item, kind)
			}
		}
		return
	}
	var head struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Items      json.RawMessage `json:"items"`
	}
	if json.Unmarshal(text, &head) != nil {
		return // not an object
	}
	f.objects++
	if head.Kind == "" {
		head.Kind = kind
	}
	if of, isList := strings.CutSuffix(head.Kind, "List"); isList || head.Kind == "" && len(head.Items) > 0 {
		f.addObject(where, head.Items, of)
		return
	}
	if head.Kind == "" {
		head.Kind = inferredKind(text)
	}
	if err := f.addKind(head.Kind, head.APIVersion, text); err != nil {
		f.unread = append(f.unread, fmt.Sprintf("%s: %s: %s", where, head.Kind, oneLine(err)))
	}
}

// inferredKind returns the kind of an object that does not say, as in the archives of
// some support tools, or "".
func inferredKind(text []byte) string {
	var fields struct {
		Metadata       *struct{ Name string } `json:"metadata"`
		InvolvedObject json.RawMessage        `json:"involvedObject"`
		Spec           struct {
			Containers   []json.RawMessage `json:"containers"`
			BackoffLimit *int              `json:"backoffLimit"`
			Template     json.RawMessage   `json:"template"`
		} `json:"spec"`
		Status struct {
			NodeInfo json.RawMessage `json:"nodeInfo"`
		} `json:"status"`
	}
	switch err := json.Unmarshal(text, &fields); {
	case err != nil || fields.Metadata == nil:
		return ""
	case len(fields.Spec.Containers) > 0:
		return "Pod"
	case fields.Spec.BackoffLimit != nil && fields.Spec.Template != nil:
		return "Job"
	case fields.InvolvedObject != nil:
		return "Event"
	case fields.Status.NodeInfo != nil:
		return "Node"
	}
	return ""
}

func (f *filed) addKind(kind, apiVersion string, text []byte) error {
	target := func(o metav1.Object) error {
		err := json.Unmarshal(text, o)
		if err == nil {
			f.targets = append(f.targets, o)
		}
		return err
	}
	switch kind {
	case "Pod":
		return target(&corev1.Pod{})
	case "Job":
		return target(&batchv1.Job{})
	case "CronJob":
		return target(&batchv1.CronJob{})
	case "Deployment":
		return target(&appsv1.Deployment{})
	case "StatefulSet":
		return target(&appsv1.StatefulSet{})
	case "DaemonSet":
		return target(&appsv1.DaemonSet{})
	case "ReplicaSet":
		return target(&appsv1.ReplicaSet{})
	case "ReplicationController":
		return target(&corev1.ReplicationController{})
	case "Node":
		node := &corev1.Node{}
		err := json.Unmarshal(text, node)
		f.nodes = append(f.nodes, node)
		return err
	case "Event":
		event, err := eventOf(apiVersion, text)
		if err == nil {
			f.events = append(f.events, event)
		}
		return err
	}
	return nil
}

// eventOf returns an Event of either API group.
func eventOf(apiVersion string, text []byte) (*corev1.Event, error) {
	event := &corev1.Event{}
	if !strings.HasPrefix(apiVersion, eventsv1.GroupName) {
		err := json.Unmarshal(text, event)
		return event, err
	}
	var newer eventsv1.Event
	if err := json.Unmarshal(text, &newer); err != nil {
		return nil, err
	}
	event.ObjectMeta, event.InvolvedObject = newer.ObjectMeta, newer.Regarding
	event.Reason, event.Message, event.Type = newer.Reason, newer.Note, newer.Type
	event.EventTime, event.Count = newer.EventTime, newer.DeprecatedCount
	event.FirstTimestamp, event.LastTimestamp = newer.DeprecatedFirstTimestamp, newer.DeprecatedLastTimestamp
	if s := newer.Series; s != nil {
		event.Series = &corev1.EventSeries{Count: s.Count, LastObservedTime: s.LastObservedTime}
	}
	return event, nil
}
