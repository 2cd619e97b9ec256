package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/jobrun"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/check"
	"github.com/restartkit/restart/kube/check/document"
)

// manifestFlags say how a manifest is read.
type manifestFlags struct {
	job           string
	set, commands []string
	envFiles      []string
	validate      string
	resume        bool
	ownDelays     bool // the run does not wait as long as a cluster
}

// manifest is a Job that this machine can run.
type manifest struct {
	name      string // of the file, for messages
	object    *check.Object
	job       *batchv1.Job
	generated string            // prefix of a generated name; "" if the file has a name
	values    map[string]string // of --env-file; nil without one
	notes     []string          // what there is to say before it runs

	overridden []string // paths in the object that --set has set
}

// read reads the Job of a file. Everything that is wrong with it is in the error.
func (f *manifestFlags) read(name string, stdin io.Reader) (*manifest, error) {
	level, ok := map[string]string{"strict": "strict", "true": "strict", "warn": "warn", "ignore": "ignore", "false": "ignore"}[strings.ToLower(f.validate)]
	if !ok {
		return nil, usageError("--validate %s: must be strict, warn or ignore", human.Escape(f.validate))
	}
	m := &manifest{name: name}
	var err error
	if m.values, err = readEnvFiles(f.envFiles); err != nil {
		return nil, err
	}
	var file *check.File
	if name == "-" {
		m.name = "standard input"
		file = check.Read(m.name, stdin)
	} else {
		file = check.ReadFile(name)
	}
	if m.object, err = f.choose(m, file); err != nil {
		return nil, err
	}
	if err := f.override(m); err != nil {
		return nil, err
	}
	if wrong := m.judge(level, f.ownDelays); len(wrong) > 0 {
		return nil, m.mistakes(wrong)
	}
	m.adopt(file)
	if f.resume {
		m.job.Spec.Suspend = nil
	}
	return m, nil
}

// choose returns the Job to run: the named Job or CronJob, or else the only Job, or the
// only CronJob.
func (f *manifestFlags) choose(m *manifest, file *check.File) (*check.Object, error) {
	var unread []check.Finding
	for _, finding := range file.Findings {
		if finding.Severity == check.Error || len(file.Objects) == 0 {
			unread = append(unread, finding)
		}
	}
	if len(unread) > 0 {
		return nil, m.mistakes(unread)
	}
	isJob := func(o *check.Object) bool { return o.Kind == "Job" || o.Kind == "CronJob" }
	jobs := only(file.Objects, isJob)
	found := only(jobs, func(o *check.Object) bool { return f.job == "" || o.Name == f.job })
	if plain := only(found, func(o *check.Object) bool { return o.Kind == "Job" }); f.job == "" && len(plain) > 0 {
		found = plain
	}
	refused := func(format string, args ...any) (*check.Object, error) {
		return nil, usageError("%s: %s", human.Escape(m.name), human.Escape(fmt.Sprintf(format, args...)))
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && f.job != "":
		return refused("--job %s: %d have this name: %s", f.job, len(found), listed(found))
	case len(found) > 1:
		return refused("%d Jobs, choose one with --job NAME: %s", len(found), listed(found))
	case len(jobs) > 0:
		return refused("--job %s: no Job has this name; there is %s", f.job, listed(jobs))
	case len(file.Objects) == 0 && file.NoObjects > 0:
		return refused("not a Job: must be an object with apiVersion, kind, metadata and spec")
	case len(file.Objects) == 0:
		return refused("empty: no Job in it")
	case len(file.Objects) == 1:
		o := file.Objects[0]
		if wrong := o.Judge(check.Options{}).Findings; !o.IsJudged() && len(wrong) > 0 {
			return nil, m.mistakes(wrong) // such as a misspelt kind
		}
		return nil, m.mistakes([]check.Finding{o.FindingOf(field.Error{Field: "kind", Type: field.NotSupported, Value: o.Kind, Detail: "must be Job or CronJob"})})
	}
	return refused("no Job in it; there is %s", listed(file.Objects))
}

// only returns the objects for which keep returns true.
func only(all []*check.Object, keep func(*check.Object) bool) []*check.Object {
	return slices.DeleteFunc(slices.Clone(all), func(o *check.Object) bool { return !keep(o) })
}

// listed describes the first objects in the order of the file.
func listed(all []*check.Object) string {
	const most = 8
	var texts []string
	for _, o := range all[:min(len(all), most)] {
		texts = append(texts, fmt.Sprintf("%v (line %d)", o, o.Line))
	}
	if len(all) > most {
		texts = append(texts, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(texts, ", ")
}

// override applies --set and --command.
func (f *manifestFlags) override(m *manifest) error {
	o := m.object
	for _, text := range f.set {
		path, value, ok := strings.Cut(text, "=")
		if !ok || path == "" {
			return usageError("--set %s: must be field=value", human.Escape(text))
		}
		if !strings.HasPrefix(path, "spec.") {
			path = "spec." + path
		}
		node, err := document.ParseValue(value)
		if err == nil {
			err = o.Set(o.JobPath(path), node)
		}
		if err != nil {
			return usageError("--set %s", human.Escape(fmt.Sprintf("%s: %v", path, err)))
		}
		m.overridden = append(m.overridden, o.JobPath(path))
	}
	for _, text := range f.commands {
		name, command, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return usageError("--command %s: must be container=program", human.Escape(text))
		}
		if err := m.setCommand(name, command); err != nil {
			return usageError("--command %s", human.Escape(fmt.Sprintf("%s: %v", name, err)))
		}
	}
	return nil
}

// setCommand gives a container a command.
func (m *manifest) setCommand(container, command string) error {
	job := m.object.Job()
	if job == nil {
		return errors.New("the file has no Job that could be read")
	}
	node, err := commandOf(command)
	if err != nil {
		return err
	}
	if len(node.List()) == 0 {
		return errors.New("must name a program")
	}
	var names []string
	pod := &job.Spec.Template.Spec
	for _, list := range []struct {
		path       string
		containers []corev1.Container
	}{{"initContainers", pod.InitContainers}, {"containers", pod.Containers}} {
		for i := range list.containers {
			if name := list.containers[i].Name; name != container {
				names = append(names, name)
				continue
			}
			path := m.object.JobPath(fmt.Sprintf("spec.template.spec.%s[%d].command", list.path, i))
			m.overridden = append(m.overridden, path)
			return m.object.Set(path, node)
		}
	}
	return fmt.Errorf("the Job has no such container; it has %s", strings.Join(names, ", "))
}

// commandOf returns the list that a command is, or else its words as in a shell.
func commandOf(command string) (*document.Node, error) {
	if isList(command) {
		if node, err := document.ParseValue(command); err == nil && node.List() != nil {
			return node, nil
		}
	}
	words, err := wordsOf(command)
	var list []*document.Node
	for _, word := range words {
		list = append(list, &document.Node{Value: word})
	}
	return &document.Node{Value: list}, err
}

// isList reports whether a command begins as a list in brackets, such as [sh, -c, exit].
// White space after the bracket makes it the program [, unless all is a JSON array of
// strings.
func isList(command string) bool {
	elements, bracket := strings.CutPrefix(strings.TrimSpace(command), "[")
	isProgram := elements == "" || strings.TrimLeftFunc(elements, unicode.IsSpace) != elements
	var texts []string
	return bracket && (!isProgram || json.Unmarshal([]byte(command), &texts) == nil)
}

// wordsOf splits a command at white space outside of quotes, and removes quotes and
// backslashes as a shell does: a backslash is for the next character, but between single
// quotes it is itself, and between double quotes before other characters than \ " $ and `.
// Outside of single quotes, a backslash at the end of a line joins it with the next one.
func wordsOf(command string) (words []string, err error) {
	var word strings.Builder
	begun, escaped, quote := false, false, rune(0)
	for _, c := range command + " " {
		switch {
		case escaped && c == '\n':
			escaped = false
		case escaped:
			if quote == '"' && !strings.ContainsRune("\\\"$`", c) {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			begun, escaped = true, false
		case c == '\\' && quote != '\'':
			escaped = true
		case c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			begun, quote = true, c
		case !unicode.IsSpace(c):
			begun = true
			word.WriteRune(c)
		case begun:
			words = append(words, word.String())
			word.Reset()
			begun = false
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("must end with the %c that it begins with", quote)
	case begun:
		return nil, errors.New("must not end with a backslash")
	}
	return words, nil
}

// judge returns the mistakes of the Job, and keeps all other findings, but not those about
// the delays of a cluster if the run has its own.
func (m *manifest) judge(level string, ownDelays bool) (wrong []check.Finding) {
	o := m.object
	for _, finding := range o.Judge(check.Options{}).Findings {
		isLenient := finding.Kind == check.KindUnknownField || finding.Kind == check.KindDuplicate
		switch {
		case isLenient && level != "strict" && !m.isOverridden(finding.Field):
			if level == "warn" {
				m.notes = append(m.notes, "warning: "+finding.String())
			}
		case isImage(finding): // images do not run here
		case finding.Kind == check.Kind(lint.KindDeadline) && ownDelays:
		case finding.Severity == check.Error:
			wrong = append(wrong, finding)
		default:
			m.notes = append(m.notes, finding.String())
		}
	}
	job := o.Job()
	if job == nil && len(wrong) == 0 {
		return append(wrong, o.FindingOf(field.Error{Field: "apiVersion", Type: field.NotSupported, Value: o.APIVersion, Detail: "must be batch/v1"}))
	}
	if job == nil {
		return wrong
	}
	var here field.Errors
	for _, e := range jobrun.Check(job, m.values) {
		if !m.isConsequence(e) {
			here = append(here, e)
		}
	}
	unused := m.unused()
	for _, path := range m.overridden {
		if slices.ContainsFunc(unused, func(of string) bool { return document.Within(path, of) }) {
			wrong = append(wrong, check.Finding{Severity: check.Error, Field: o.DocumentPath(path), Text: "has no effect on processes"})
		}
	}
	wrong = append(wrong, m.located(here)...)
	slices.SortStableFunc(wrong, func(a, b check.Finding) int { return cmp.Compare(a.Line, b.Line) })
	return wrong
}

// isImage reports whether a finding says that a container needs an image.
func isImage(finding check.Finding) bool {
	return strings.HasSuffix(finding.Field, "].image") && strings.HasPrefix(finding.Text, "required")
}

// isConsequence reports whether a mistake only follows from one that is reported anyway:
// a value of a wrong type, or a misspelt field.
func (m *manifest) isConsequence(e field.Error) bool {
	at := m.object.JobPath(e.Field)
	parent := at[:max(strings.LastIndexByte(at, '.'), 0)]
	return slices.ContainsFunc(m.object.Mistakes, func(mistake document.Mistake) bool {
		of := mistake.Path[:max(strings.LastIndexByte(mistake.Path, '.'), 0)]
		return document.Within(at, mistake.Path) || document.Within(mistake.Path, at) || e.Type == field.Required && mistake.Meant != "" && of == parent
	})
}

// located returns errors about the Job with their lines.
func (m *manifest) located(errs field.Errors) (findings []check.Finding) {
	for _, e := range errs {
		e.Field = m.object.JobPath(e.Field)
		findings = append(findings, m.object.FindingOf(e))
	}
	return findings
}

// isOverridden reports whether a field of a finding was set by a flag.
func (m *manifest) isOverridden(path string) bool {
	return slices.ContainsFunc(m.overridden, func(of string) bool { return document.Within(path, m.object.DocumentPath(of)) })
}

// mistakes returns the error of a manifest with which nothing can be started.
func (m *manifest) mistakes(wrong []check.Finding) error {
	const most = 50
	var text strings.Builder
	for i, finding := range wrong {
		if i == most {
			fmt.Fprintf(&text, "\n  and %d more", len(wrong)-most)
			break
		}
		line := finding.String()
		if m.object != nil && m.isOverridden(finding.Field) {
			finding.Line = 0
			line = "--set " + finding.String()
		}
		text.WriteString("\n  " + human.Escape(line))
	}
	return usageError("%s: nothing was started:%s", human.Escape(m.name), text.String())
}

// adopt takes the Job out of the file: with a namespace and a name, and without what
// another cluster has set. What is not used here is noted.
func (m *manifest) adopt(file *check.File) {
	job := m.object.Job().DeepCopy()
	meta := metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace, Labels: job.Labels, Annotations: job.Annotations}
	if meta.Name == "" { // as an API server does
		const random = 5
		prefix := job.GenerateName
		m.generated = prefix[:min(len(prefix), validation.DNS1123LabelMaxLength-random)]
		meta.Name = m.generated + rand.String(random)
	}
	if meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault
	}
	job.ObjectMeta, job.Status = meta, batchv1.JobStatus{}
	m.job = job

	var ignored []string
	for _, path := range m.unused() {
		ignored = append(ignored, m.object.DocumentPath(path))
	}
	for _, o := range file.Objects {
		if o != m.object {
			ignored = append(ignored, fmt.Sprintf("%v (line %d)", o, o.Line))
		}
	}
	for _, list := range [][]corev1.Container{job.Spec.Template.Spec.InitContainers, job.Spec.Template.Spec.Containers} {
		for i := range list {
			if image := "image " + list[i].Image; list[i].Image != "" && !slices.Contains(ignored, image) {
				ignored = append(ignored, image)
			}
		}
	}
	if len(ignored) > 0 {
		m.notes = append(m.notes, "not used here: "+strings.Join(ignored, ", "))
	}
}

// usedJob is the part of a Job used here.
type usedJob struct {
	APIVersion any `json:"apiVersion"`
	Kind       any `json:"kind"`
	Metadata   any `json:"metadata"`
	Spec       struct {
		ActiveDeadlineSeconds any `json:"activeDeadlineSeconds"`
		BackoffLimit          any `json:"backoffLimit"`
		BackoffLimitPerIndex  any `json:"backoffLimitPerIndex"`
		CompletionMode        any `json:"completionMode"`
		Completions           any `json:"completions"`
		ManagedBy             any `json:"managedBy"`
		MaxFailedIndexes      any `json:"maxFailedIndexes"`
		Parallelism           any `json:"parallelism"`
		PodFailurePolicy      any `json:"podFailurePolicy"`
		PodReplacementPolicy  any `json:"podReplacementPolicy"`
		SuccessPolicy         any `json:"successPolicy"`
		Suspend               any `json:"suspend"`
		Template              struct {
			Metadata any `json:"metadata"`
			Spec     struct {
				ActiveDeadlineSeconds         any             `json:"activeDeadlineSeconds"`
				Containers                    []usedContainer `json:"containers"`
				InitContainers                []usedContainer `json:"initContainers"`
				RestartPolicy                 any             `json:"restartPolicy"`
				TerminationGracePeriodSeconds any             `json:"terminationGracePeriodSeconds"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type usedContainer struct {
	Args      any `json:"args"`
	Command   any `json:"command"`
	Env       any `json:"env"`
	EnvFrom   any `json:"envFrom"`
	Image     any `json:"image"` // named on its own
	Lifecycle struct {
		StopSignal any `json:"stopSignal"`
	} `json:"lifecycle"`
	Name               any `json:"name"`
	RestartPolicy      any `json:"restartPolicy"`
	RestartPolicyRules any `json:"restartPolicyRules"`
	WorkingDir         any `json:"workingDir"`
}

// unused returns the paths of known fields unused here.
func (m *manifest) unused() (paths []string) {
	o := m.object
	at, template := o.Node, strings.TrimSuffix(o.JobPath("spec"), "spec")
	if template != "" {
		at = o.Node.At(strings.TrimSuffix(template, "."))
	}
	if at == nil {
		return nil
	}
	isMistake := func(path string) bool {
		return slices.ContainsFunc(o.Mistakes, func(mistake document.Mistake) bool { return mistake.Path == path })
	}
	for _, mistake := range document.Decode(at, new(usedJob)) {
		if path := template + mistake.Path; mistake.Fault == document.Unknown && !isMistake(path) {
			paths = append(paths, path)
		}
	}
	return paths
}
