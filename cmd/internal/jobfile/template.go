package jobfile

import (
	"github.com/restartkit/restart/cmd/internal/document"
)

// template is a Job, or the Job made from a CronJob's template.
type template struct {
	job    *document.Node
	around *document.Node // the CronJob; nil for a Job
	at     string         // path of the object in its document
}

const jobTemplate = "spec.jobTemplate."

func templateOf(o Object) template {
	if o.Kind == "Job" {
		return template{job: o.Node, at: o.at}
	}
	from := o.Node.Field("spec").Field("jobTemplate")
	job := &document.Node{Line: o.Node.LineOf("spec.jobTemplate"), Value: document.Object{}}
	job.Set("apiVersion", o.Node.Field("apiVersion"))
	job.Set("kind", &document.Node{Value: "Job"})
	job.Set("metadata", cronMetadata(o, from.Field("metadata")))
	job.Set("spec", from.Field("spec"))
	return template{job: job, around: o.Node, at: o.at}
}

// cronMetadata returns the metadata of a Job made by a CronJob, with the template's
// labels and annotations, and a name generated from the CronJob's.
func cronMetadata(o Object, from *document.Node) *document.Node {
	metadata := &document.Node{Line: o.Node.LineOf("metadata"), Value: document.Object{}}
	own := o.Node.Field("metadata")
	if name := own.Field("name").Text(); name != "" {
		metadata.Set("generateName", &document.Node{Value: name + "-"})
	}
	metadata.Set("namespace", own.Field("namespace"))
	metadata.Set("labels", from.Field("labels"))
	metadata.Set("annotations", from.Field("annotations"))
	return metadata
}

// path returns the path in the document for a path in the Job.
func (t template) path(path string) string {
	if t.around != nil && isTemplates(jobTemplate+path) {
		path = jobTemplate + path
	}
	return t.at + path
}

// isTemplates reports whether a path of a CronJob is within the parts of the template
// used by its Job.
func isTemplates(path string) bool {
	for _, part := range []string{"spec", "metadata.labels", "metadata.annotations"} {
		if document.Within(path, jobTemplate+part) {
			return true
		}
	}
	return false
}

// isJobs reports whether a path of a CronJob is within the parts shared with its Job.
func isJobs(path string) bool {
	return isTemplates(path) || path == "apiVersion" || path == "metadata.namespace"
}
