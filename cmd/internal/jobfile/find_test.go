package jobfile

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/document"
)

// named is a Job of that name.
func named(kind, name string) string {
	return "apiVersion: batch/v1\nkind: " + kind + "\nmetadata: {" + name + "}\nspec: " +
		map[string]string{"Job": pods, "CronJob": "{schedule: '@daily', jobTemplate: {metadata: {labels: {a: b}}, spec: " + pods + "}}"}[kind] + "\n"
}

const pods = "{template: {spec: {restartPolicy: Never, containers: [{name: main, command: [x]}]}}}"

func TestTheJobIsFound(t *testing.T) {
	const service = "kind: Service\nmetadata: {name: web}\n---\n"
	both := named("Job", "name: a") + "---\n" + named("Job", "name: b")
	items := "kind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(named("Job", "name: listed")), "\n", "\n  ")
	for name, tt := range map[string]struct{ text, job, want, err string }{
		"the only one":           {service + named("Job", "name: a"), "", "^a$", ""},
		"by its name":            {both, "b", "^b$", ""},
		"generated":              {named("Job", "generateName: a-"), "", "^a-[a-z0-9]{5}$", ""},
		"generated, by its name": {named("Job", "generateName: a-") + "---\n" + both, "a-", "^a-[a-z0-9]{5}$", ""},
		"a long name":            {named("Job", "generateName: "+strings.Repeat("a", 70)), "", "^a{58}[a-z0-9]{5}$", ""},
		"a name and a beginning": {named("Job", "generateName: a-, name: b"), "", "^b$", ""},
		"a CronJob":              {named("CronJob", "name: nightly, namespace: ops"), "", "^nightly-[a-z0-9]{5}$", ""},
		"a Job beside a CronJob": {named("CronJob", "name: nightly") + "---\n" + named("Job", "name: a"), "", "^a$", ""},
		"a CronJob by its name":  {named("CronJob", "name: nightly") + "---\n" + named("Job", "name: a"), "nightly", "^nightly-", ""},
		"in a List":              {items, "", "^listed$", ""},
		"in a JobList":           {strings.Replace(strings.Replace(items, "kind: List", "kind: JobList", 1), "  kind: Job\n", "", 1), "", "^listed$", ""},
		"two":                    {both, "", "", "2 Jobs, choose one with -job NAME: Job a (line 1), Job b (line 6)"},
		"two CronJobs":           {named("CronJob", "name: a") + "---\n" + named("CronJob", "name: b"), "", "", "2 Jobs, choose one with -job NAME: CronJob a (line 1), CronJob b (line 6)"},
		"two of one name":        {both + "---\n" + named("CronJob", "name: a"), "a", "", "-job a: 2 have this name: Job a (line 1), CronJob a (line 11)"},
		"another name":           {service + both, "c", "", "-job c: no Job has this name; there is Job a (line 4), Job b (line 9)"},
		"none":                   {service + "metadata: {}", "", "", "no Job in it; there is Service web (line 1), an object without a kind (line 4)"},
		"an empty List":          {"kind: List\nitems: []", "", "", "no Job in it"},
		"no kind":                {"a: 1", "", "", "line 1: kind: required: must be \"Job\" or \"CronJob\""},
		"a wrong restartPolicy":  {strings.Replace(named("Job", "name: a"), "Never", "never", 1), "", "", "line 4: spec.template.spec.restartPolicy: unsupported value \"never\": must be OnFailure or Never in a Job"},
		"a List in a List":       {"kind: List\nitems:\n- kind: List\n  items: []", "", "", "line 3: items[0].kind: unsupported value \"List\": must be \"Job\" or \"CronJob\""},
		"no object":              {"[]", "", "", "not a Job: must be an object with apiVersion, kind, metadata and spec"},
		"a CronJob without a Job": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  shedule: x\n", "", "", "line 4: spec.jobTemplate.spec.template.spec.restartPolicy: required: a Job's pods need OnFailure or Never\n" +
			"line 4: spec.jobTemplate.spec.template.spec.containers: required: a pod needs a container\n" +
			"line 5: spec.shedule: unknown field: did you mean schedule?"},
		"a typo in a CronJob":    {strings.Replace(named("CronJob", "name: a"), "command:", "comand:", 1), "", "", "line 4: spec.jobTemplate.spec.template.spec.containers[0].comand: unknown field: did you mean command?"},
		"a wrong CronJob":        {strings.Replace(named("CronJob", "name: a"), "'@daily'", "1", 1), "", "", "line 4: spec.schedule: invalid value 1: must be a string: put it in quotes"},
		"a typo in its metadata": {strings.Replace(named("CronJob", "name: a"), "labels:", "lables:", 1), "", "", "line 4: spec.jobTemplate.metadata.lables: unknown field: did you mean labels?"},
		"a wrong label of it":    {strings.Replace(named("CronJob", "name: a"), "a: b", "a: 1", 1), "", "", "line 4: spec.jobTemplate.metadata.labels[a]: invalid value 1: must be a string: put it in quotes"},
		"a CronJob's version":    {strings.Replace(named("CronJob", "name: a"), "batch/v1", "7", 1), "", "", "line 1: apiVersion: invalid value 7: must be a string: put it in quotes"},
		"its template's name":    {strings.Replace(named("CronJob", "name: a"), "labels:", "name: b, labels:", 1), "", "^a-[a-z0-9]{5}$", ""},
		"a typo in a List":       {strings.Replace(items, "command:", "comand:", 1), "", "", "line 6: items[0].spec.template.spec.containers[0].comand: unknown field: did you mean command?"},
		"a wrong generateName":   {named("Job", "generateName: A_"), "", "", "line 3: metadata.generateName: invalid value \"A_\": must be lower case letters, digits and hyphens, with a letter or digit at the beginning"},
	} {
		m, err := decode(t, tt.text, Reading{Job: tt.job, Validate: Strict, Processes: true})
		got := ""
		if err != nil {
			got = err.Error()
		}
		var wrong document.Mistakes
		if errors.As(err, &wrong) {
			got = err.Error()
		}
		if got != tt.err {
			t.Errorf("%s: error %q, want %q", name, got, tt.err)
		}
		if err == nil && !regexp.MustCompile(tt.want).MatchString(m.Job.Name) {
			t.Errorf("%s: name %s, want %s", name, m.Job.Name, tt.want)
		}
		if err == nil && strings.HasPrefix(name, "a CronJob") && m.Job.Spec.Template.Spec.Containers[0].Name != "main" {
			t.Errorf("%s: job %+v", name, m.Job)
		}
	}
}

func TestWhatIsLeftOfAFileIsNoted(t *testing.T) {
	m, err := decode(t, "kind: Service\nmetadata: {name: web}\n---\nkind: Secret\nmetadata: {name: s}\n---\n"+named("Job", "name: a")+"---\n"+named("CronJob", "name: b"), strict)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(m.Ignored, ", "), "Service web (line 1), CronJob b (line 12)"; got != want {
		t.Errorf("not used: %s, want %s", got, want)
	}
}

func TestCronJobKeepsItsNamespaceAndLabels(t *testing.T) {
	m, err := decode(t, named("CronJob", "name: nightly, namespace: ops"), strict)
	if err != nil {
		t.Fatal(err)
	}
	if m.Job.Namespace != "ops" || m.Job.Labels["a"] != "b" {
		t.Errorf("metadata %+v", m.Job.ObjectMeta)
	}
}
