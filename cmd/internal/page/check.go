package page

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/check"
	"github.com/restartkit/restart/kube/convert"
)

// engine decides as Kubernetes does.
var engine jobpolicy.Engine

// Bounds of the manifest and of its rendering.
const (
	largestManifest = 256 << 10 // bytes
	mostRemarks     = 200
	mostObjects     = 50
	largestSpec     = 100_000 // bytes
	mostContainers  = 8       // with a column of their own
	mostTrials      = 50
)

// checkQuestion is a request of the tab Check.
type checkQuestion struct {
	Manifest string  `json:"manifest"`
	Job      string  `json:"job"`    // the name of a Job in it; "" for the first
	Trials   []Trial `json:"trials"` // nil for suggestions
}

// checkAnswer is the content of the tab Check.
type checkAnswer struct {
	Summary   string   `json:"summary"`
	NotJudged string   `json:"notJudged,omitempty"`
	Remarks   []Remark `json:"remarks,omitempty"` // about the file
	Objects   []object `json:"objects,omitempty"`

	Jobs       []string `json:"jobs,omitempty"` // names, to choose one
	Job        string   `json:"job,omitempty"`  // that the following is about
	NoJob      string   `json:"noJob,omitempty"`
	Containers []string `json:"containers,omitempty"`
	Trials     []Tried  `json:"trials,omitempty"`
	Spec       string   `json:"spec,omitempty"` // with defaults, as YAML
}

// object is an object of the manifest, and the findings about it.
type object struct {
	Title   string   `json:"title"`
	Remarks []Remark `json:"remarks,omitempty"`
	Worst   string   `json:"worst,omitempty"`
}

// Remark is a remark on a line of the manifest.
type Remark struct {
	Line int    `json:"line"` // 0 for the whole text
	Kind string `json:"kind"` // error, warning or notice
	Text string `json:"text"`
}

// checked answers with the findings of restart check.
func checked(_ context.Context, q checkQuestion) checkAnswer {
	a := checkAnswer{}
	if len(q.Manifest) > largestManifest {
		a.Summary = "Not judged."
		a.Remarks = []Remark{{0, "notice", fmt.Sprintf("the manifest is too long: this page reads at most %d bytes; restart check reads more", largestManifest)}}
		return a
	}
	file := check.Parse("manifest", []byte(q.Manifest))
	a.Remarks = remarks(file.Findings)
	counts := make(map[check.Severity]int)
	tally(counts, file.Findings)
	judged, others := 0, file.NoObjects+file.Templated+file.Encrypted
	for _, o := range file.Objects {
		judgement := o.Judge(check.Options{})
		if !o.IsJudged() && len(judgement.Findings) == 0 {
			others++
			continue
		}
		judged++
		tally(counts, judgement.Findings)
		shown := object{Title: clean(o.String()), Remarks: remarks(judgement.Findings)}
		if w := judgement.WorstCase; w != nil {
			shown.Worst = sentence(w.String())
		}
		if len(a.Objects) < mostObjects {
			a.Objects = append(a.Objects, shown)
		}
	}
	a.Summary = total(judged, others, counts)
	if judged > 0 {
		a.NotJudged = "Not judged: " + check.NotJudged + "."
	}

	job, _, names, why := jobOf(file, q.Job)
	a.Jobs, a.NoJob = names, why
	if job == nil {
		return a
	}
	a.Job, a.Containers, a.Spec = job.Name, containers(job), specYAML(job)
	trials := q.Trials
	if trials == nil {
		trials = suggested(job)
	}
	for _, t := range trials[:min(len(trials), mostTrials)] {
		a.Trials = append(a.Trials, try(job, t))
	}
	return a
}

// total is the summary of a file.
func total(judged, others int, counts map[check.Severity]int) string {
	var found []string
	for _, severity := range []check.Severity{check.Error, check.Warning, check.Notice} {
		if n := counts[severity]; n > 0 {
			found = append(found, human.Count(n, string(severity)))
		}
	}
	if len(found) == 0 {
		found = []string{"nothing found"}
	}
	text := fmt.Sprintf("%s judged: %s.", human.Count(judged, "object"), strings.Join(found, ", "))
	if others > 0 {
		text += fmt.Sprintf(" Passed over: %s.", human.Count(others, "other document"))
	}
	return text
}

func tally(counts map[check.Severity]int, findings []check.Finding) {
	for _, f := range findings {
		counts[f.Severity]++
	}
}

func remarks(findings []check.Finding) (all []Remark) {
	for i, f := range findings {
		if i == mostRemarks {
			return append(all, Remark{0, "notice", fmt.Sprintf("and %d more", len(findings)-i)})
		}
		line := f.Line
		f.Line = 0 // stands in front
		all = append(all, Remark{line, string(f.Severity), clean(f.String())})
	}
	return all
}

// jobOf returns the Job of a file that has the name, or the first one, with its defaults.
// names are those of all Jobs. Without a Job, why says so.
func jobOf(file *check.File, name string) (job *batch.Job, pod *corev1.PodSpec, names []string, why string) {
	why = "This needs a Job or a CronJob, and the manifest has none that can be read."
	for _, o := range file.Objects {
		found := o.Job()
		if found == nil {
			continue
		}
		title := o.Name
		if len(names) < mostObjects {
			names = append(names, clean(title))
		}
		if job != nil || name != "" && name != title && len(file.Objects) > 1 {
			continue
		}
		if o.Judge(check.Options{}).Worst() == check.Error {
			why = "The API server would refuse " + clean(o.String()) + ". Once its errors are gone, you can try failed pods and run it here."
			continue
		}
		job, pod = convert.Job(found), &found.Spec.Template.Spec
		if job.Name == "" {
			job.Name = strings.TrimSuffix(title, "-")
		}
		if job.Namespace == "" {
			job.Namespace = "default"
		}
		job.Spec.Default()
		if err := job.Spec.Validate(); err != nil {
			job, why = nil, clean(err.Error())
		}
	}
	if job != nil {
		why = ""
	}
	return job, pod, names, why
}

// containers returns the names of the first containers, app containers before init
// containers.
func containers(job *batch.Job) []string {
	pod := &job.Spec.Template.Spec
	var names []string
	for _, c := range slices.Concat(pod.Containers, pod.InitContainers) {
		if len(names) < mostContainers {
			names = append(names, c.Name)
		}
	}
	return names
}

// specYAML returns the part of a Job's specification that decides about restarts, with
// the defaults that the API server fills in.
func specYAML(job *batch.Job) string {
	text, err := yaml.Marshal(map[string]any{"spec": job.Spec})
	if err != nil {
		return "# " + clean(err.Error()) + "\n"
	}
	if len(text) > largestSpec {
		return strings.ToValidUTF8(string(text[:largestSpec]), "") + "\n… and more: the specification is too long for this page\n"
	}
	return string(text)
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	text = clean(text)
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
