package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/restartkit/restart/kube/check"
	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

func (p *program) checkCommand() *cobra.Command {
	var options check.Options
	strict := false
	c := &cobra.Command{
		Use:   "check [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Likely mistakes in what decides about restarts",
		Long: `Judges what the objects of a cluster do when something fails, as restart check does with
manifests: restart policies and rules, a Job's policies, limits and deadlines, schedules.
Of an object that belongs to another, only the other is judged.

  error    the API server of the version would refuse it
  warning  it is accepted, but pods end or go on against the intention
  notice   worth knowing: a part has no effect, or is not judged

check exits with 1 if it found an error, and with --strict if it found a warning. With
--kubernetes, what that version drops or refuses is said, too.

Without arguments it judges the Jobs, CronJobs, Deployments, StatefulSets, DaemonSets,
ReplicaSets and pods of the namespace. With -f it judges manifests and needs no cluster.`,
		Example: `  kubectl backoff check -A
  kubectl backoff check job/import --kubernetes 1.30
  helm template mychart | kubectl backoff check -f -`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := options.Validate(); err != nil {
				return usagef("--kubernetes %w", err)
			}
			return p.check(c.Context(), args, options, strict)
		},
		ValidArgsFunction: p.completeObjects,
	}
	p.addFlags(c)
	c.Flags().StringVar(&options.Kubernetes, "kubernetes", "", "`version` to judge for, from 1.25 to 1.38, and say what it drops or refuses (default "+check.Newest+")")
	c.Flags().BoolVar(&strict, "strict", false, "exit with 1 on warnings, too")
	return c
}

// checkedKinds are judged without arguments, owners before their objects.
const checkedKinds = "cronjobs.batch,jobs.batch,deployments.apps,statefulsets.apps,daemonsets.apps,replicasets.apps,pods"

// checked has the findings about an object, or a file.
type checked struct {
	File      string          `json:"file,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name,omitempty"`
	Findings  []check.Finding `json:"findings"`
	WorstCase string          `json:"worstCase,omitempty"`
}

func (p *program) check(ctx context.Context, args []string, options check.Options, strict bool) error {
	if err := p.validate(); err != nil {
		return err
	}
	var all []checked
	var total int
	var err error
	if len(p.files) > 0 {
		all, total, err = p.checkFiles(args, options)
	} else {
		all, total, err = p.checkCluster(ctx, args, options)
	}
	if err != nil {
		return err
	}
	names := []string{}
	counts := make(map[check.Severity]int)
	for _, c := range all {
		for _, f := range c.Findings {
			counts[f.Severity]++
		}
		if len(c.Findings) > 0 && c.Kind != "" {
			names = append(names, nameOf(c.Kind, c.Name))
		}
	}
	failed := counts[check.Error] > 0 || strict && counts[check.Warning] > 0
	found := slices.DeleteFunc(slices.Clone(all), func(c checked) bool { return len(c.Findings) == 0 })
	if found == nil {
		found = []checked{}
	}
	err = p.print("CheckList", found, names, func(w *explain.Printer) {
		for i := range found {
			found[i].print(w.W)
		}
		if len(all) == 1 && all[0].WorstCase != "" && len(found) == 0 {
			all[0].print(w.W)
		}
		fmt.Fprintln(w.W, totalText(total, counts, p.where()))
	})
	if err == nil && failed {
		return &exitError{code: exitFailed}
	}
	return err
}

func totalText(objects int, counts map[check.Severity]int, where string) string {
	var parts []string
	for _, s := range []check.Severity{check.Error, check.Warning, check.Notice} {
		if n := counts[s]; n > 0 {
			parts = append(parts, explain.Counted(n, string(s)))
		}
	}
	text := fmt.Sprintf("%s%s: ", explain.Counted(objects, "object"), where)
	if len(parts) == 0 {
		text += "nothing found"
	} else {
		text += strings.Join(parts, ", ")
	}
	return text + ". Not judged: " + check.NotJudged + "."
}

func (c *checked) print(w io.Writer) {
	title := strings.ToLower(c.Kind) + " " + c.Name
	if c.Namespace != "" {
		title = strings.ToLower(c.Kind) + " " + c.Namespace + "/" + c.Name
	}
	if c.File != "" {
		title = strings.TrimSpace(c.File + " " + strings.TrimSpace(title))
	}
	fmt.Fprintf(w, "%s:\n", explain.Line(title))
	for _, f := range c.Findings {
		fmt.Fprintf(w, "  %s: %s\n", f.Severity, explain.Line(f.String()))
	}
	if c.WorstCase != "" {
		fmt.Fprintf(w, "  worst case: %s\n", explain.Line(c.WorstCase))
	}
	fmt.Fprintln(w)
}

// checkFiles judges manifests.
func (p *program) checkFiles(args []string, options check.Options) (all []checked, total int, err error) {
	if len(args) > 0 {
		return nil, 0, usagef("with -f, check judges everything in the files and takes no names")
	}
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return nil, 0, usagef("--selector %q: %w", p.selector, err)
	}
	empty := true
	judge := func(file *check.File) {
		empty = empty && len(file.Findings)+len(file.Objects)+file.NoObjects+file.Templated+file.Encrypted == 0
		if len(file.Findings) > 0 {
			all = append(all, checked{File: file.Name, Findings: file.Findings})
		}
		for _, object := range file.Objects {
			if namespace := *p.config.Namespace; namespace != "" && cmp.Or(object.Namespace, namespace) != namespace {
				continue
			}
			judgement := object.Judge(options)
			value, judged := object.Value.(metav1.Object)
			if judged && !selector.Matches(labels.Set(value.GetLabels())) {
				continue
			}
			if judged {
				total++
			}
			all = append(all, checkedOf(object, judgement, file.Name))
		}
	}
	for _, name := range p.files {
		if name == "-" {
			judge(check.Read("standard input", p.In))
			continue
		}
		for _, source := range check.Sources(p.recursive, name) {
			judge(source.File())
		}
	}
	if empty {
		return nil, 0, usagef("no Kubernetes objects%s: whatever should have written them may have failed", p.where())
	}
	return all, total, nil
}

func checkedOf(object *check.Object, judgement check.Judgement, file string) checked {
	c := checked{File: file, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, Findings: judgement.Findings}
	if judgement.WorstCase != nil {
		c.WorstCase = judgement.WorstCase.String()
	}
	return c
}

// checkCluster judges objects of a cluster.
func (p *program) checkCluster(ctx context.Context, args []string, options check.Options) (all []checked, total int, err error) {
	resources := strings.Split(checkedKinds, ",")
	named := false
	if len(args) > 0 {
		if resources, named, err = canonical(args); err != nil {
			return nil, 0, err
		}
	}
	if named && (p.selector != "" || p.allNamespaces) {
		return nil, 0, usagef("names exclude -l and -A")
	}
	c, err := p.connect()
	if err != nil {
		return nil, 0, err
	}
	objects, err := p.checkedObjects(c, resources, named)
	if err != nil {
		return nil, 0, err
	}
	known := make(map[types.UID]bool)
	for _, o := range objects {
		known[o.GetUID()] = true
	}
	for _, o := range objects {
		if owner := metav1.GetControllerOf(o); owner != nil && known[owner.UID] {
			continue
		}
		object, err := check.ObjectOf(o)
		if err != nil {
			return nil, 0, usagef("%s is not judged", kindOf(o))
		}
		total++
		all = append(all, checkedOf(object, object.Judge(options), ""))
	}
	return all, total, nil
}

// checkedObjects reads the objects to judge. It warns of kinds that may not be read, as
// long as there are others.
func (p *program) checkedObjects(c *cluster, resources []string, named bool) ([]metav1.Object, error) {
	s := &selection{}
	err := p.builder(c, resources, named).Do().Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		object, err := meta.Accessor(info.Object)
		if err == nil {
			s.targets = append(s.targets, object)
		}
		return err
	})
	if err := p.sortErrors(c, s, err); err != nil {
		return nil, err
	}
	if len(s.missing) > 0 {
		return nil, &exitError{exitFailed, s.missing[0]}
	}
	return s.targets, nil
}
