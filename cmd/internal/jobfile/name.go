package jobfile

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// takeName generates a name from metadata.generateName if there is no name, as an API
// server does.
func (m *Manifest) takeName() {
	const random = 5
	prefix := m.Job.GenerateName
	if m.Job.Name != "" || prefix == "" {
		return
	}
	m.Generated = prefix[:min(len(prefix), longestName-random)]
	m.Job.Name = m.Generated + randomName(random)
}

// randomName returns n of the letters and digits that Kubernetes generates names from;
// they form no words.
func randomName(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	name := make([]byte, n)
	for i := range name {
		name[i] = letters[rand.IntN(len(letters))]
	}
	return string(name)
}

// ResumeName takes over the name that an earlier run has generated.
func (m *Manifest) ResumeName(name string) {
	if m.Generated != "" && len(name) > len(m.Generated) && strings.HasPrefix(name, m.Generated) {
		m.Job.Name = name
	}
}

// longestName is the length limit of a DNS label, and of the value of a label.
const longestName = 63

// Names are DNS labels; that of a Job may be several with dots between them.
var (
	jobName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

const (
	nameRule    = "must be at most 63 lower case letters, digits and hyphens, with a letter or digit at both ends"
	jobNameRule = nameRule + " and beside each dot"
)

func validJobName(name string) bool { return len(name) <= longestName && jobName.MatchString(name) }

func validLabel(name string) bool { return len(name) <= longestName && dnsLabel.MatchString(name) }

func (c *checker) name(name, generated string) {
	switch {
	case generated != "" && !validJobName(name):
		c.add(field.Invalid, "metadata.generateName", generated, "must be lower case letters, digits and hyphens, with a letter or digit at the beginning")
	case name == "":
		c.add(field.Required, "metadata.name", nil, "a Job needs a name")
	case !validJobName(name):
		c.add(field.Invalid, "metadata.name", name, jobNameRule)
	}
}

// hostName checks that the host name of an Indexed Job's last pod is a DNS label, as
// an API server does.
func (c *checker) hostName(job *batch.Job) {
	spec := &job.Spec
	if spec.CompletionMode != batch.IndexedCompletion || spec.Completions == nil || *spec.Completions < 1 || !validJobName(job.Name) {
		return
	}
	if last := fmt.Sprintf("%s-%d", job.Name, *spec.Completions-1); !validLabel(last) {
		c.add(field.Invalid, "metadata.name", job.Name, fmt.Sprintf("must be shorter, and without dots: the last pod's host name would be %s", last))
	}
}
