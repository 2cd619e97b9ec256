package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Text returns a text in UTF-16 with a byte order mark.
func utf16Text(text string) string {
	units := utf16.Encode([]rune("\ufeff" + text))
	b := make([]byte, 0, 2*len(units))
	for _, u := range units {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// Whatever a file holds, there is something sensible to say about it, and not much.
func TestOddFiles(t *testing.T) {
	fine := with(job, "", "")
	bomb := []string{"a0: &a0 x"}
	for i := 1; i < 10; i++ {
		bomb = append(bomb, fmt.Sprintf("a%d: &a%d [%s*a%d]", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1))
	}
	const (
		template  = "a template, which is not judged: fill it in first, as in helm template CHART | restart check -"
		encrypted = "encrypted with SOPS, which is not judged: decrypt it first, as in sops -d FILE | restart check -"
	)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"comments", "# a\n---\n# b\n---\n", nil},
		{"line ends of DOS", strings.ReplaceAll(fine, "\n", "\r\n"), nil},
		{"a byte order mark", "\ufeff" + fine, nil},
		{"UTF-16", utf16Text(fine), nil},
		{"a mistake in UTF-16", utf16Text(with(job, "SPEC", "x: 1")), []string{"error line 5: spec.x: unknown field"}},
		{"a tab", strings.Replace(fine, "      restartPolicy", "\trestartPolicy", 1), []string{"error line 7: neither YAML nor JSON: a tab cannot indent a line of YAML: use spaces"}},
		{"bytes", "\x7fELF\x02\x01\x01\x00\x00", []string{"error not a text file"}},
		{"Latin 1", strings.Replace(fine, "image: x", "image: \xe9", 1), []string{"error line 10: not UTF-8"}},
		{"cut", strings.Replace(fine, "- name: main\n        image: x\n", "- {name: main", 1), []string{"error line 9: neither YAML nor JSON: did not find expected ',' or '}', and the text ends"}},
		{"cut JSON", `{"kind": "Job", "metadata": {"name"`, []string{"error line 1: neither YAML nor JSON: did not find expected ',' or '}', and the text ends"}},
		{"cut within a line", fine[:len(fine)-4], []string{"error line 10: neither YAML nor JSON: could not find expected ':', and the text ends"}},
		{"aliases", strings.Join(bomb, "\n"), []string{"error line 2: neither YAML nor JSON: aliases stand for more than 100000 values"}},
		{"an alias of what it is in", "kind: Job\nspec: &a {template: *a}\n", []string{"error line 2: neither YAML nor JSON: objects and lists are nested too deeply"}},
		{"brackets", strings.Repeat("[", 3<<20), []string{"error more than 2000000 values"}},
		{"merged", strings.Replace(fine, "      containers:\n      - name: main\n        image: x\n", "      containers:\n      - &c {name: main, image: x}\n      - {<<: *c, name: b}\n", 1), nil},
		{"a template of Helm", "{{- if .Values.a }}\nkind: Job\nmetadata: {name: {{ .Release.Name }}}\nspec:\n{{ toYaml . }}\n{{- end }}\n", []string{"notice line 1: " + template}},
		{"templates", "a: {{ x }}\n---\nb: {{ x }}\n---\n" + with(job, "SPEC", "x: 1"), []string{"notice line 1: " + template, "error line 9: spec.x: unknown field"}},
		{"a template that is YAML", strings.Replace(fine, "name: a", `name: "{{ .Release.Name }}"`, 1), []string{"notice line 1: " + template}},
		{"braces in an argument", with(job, "CONTAINER", "args: ['{{workflow.name}}']"), nil},
		{"a mistake beside braces in an argument", with(job, "CONTAINER", "args: ['{{workflow.name}}']\nimages: y"), []string{"error line 12: spec.template.spec.containers[0].images: unknown field: did you mean image?"}},
		{"a template of Jinja", "{% if a %}\nkind: Job\n{% endif %}\n", []string{"notice line 1: " + template}},
		{"values", "replicas: 1\nimage: {tag: x}\n", nil},
		{"a kustomization", "resources: [a.yaml]\n", nil},
		{"an encrypted Job", fine + "sops: {mac: 'ENC[a]', version: 3.9.0}\n", []string{"notice line 1: " + encrypted}},
		{"all encrypted", "apiVersion: ENC[a]\nkind: ENC[a]\nsops: {mac: 'ENC[a]'}\n", []string{"notice line 1: " + encrypted}},
		{"an encrypted Secret", "apiVersion: v1\nkind: Secret\nsops: {mac: 'ENC[a]'}\n", nil},
		{"another kind", "apiVersion: v1\nkind: Service\nspec: {x: 1}\n", nil},
		{"a kind of the same name", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {x: 1}\n", nil},
		{"a List", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service}\n- null\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n  spec: {contianers: []}\n",
			[]string{"error line 9: items[2].spec.contianers: unknown field: did you mean containers?"}},
		{"a list of Jobs", "apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: a}\n  spec: {template: {spec: {restartPolicy: Always, containers: [{name: a, image: x}]}}}\n",
			[]string{`error line 5: items[0].spec.template.spec.restartPolicy: is "Always": a Job's pods need OnFailure or Never`}},
		{"a list of lists", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: PodList\n  items:\n  - {metadata: {name: a}}\n", []string{"error line 7: items[0].items[0].spec.containers: required: a pod needs a container"}},
		{"a misspelt kind", "apiVersion: batch/v1\nkind: Cronjob\n", []string{"error line 2: kind: no kind Cronjob in batch/v1: did you mean CronJob?"}},
		{"a misspelt kind of another apiVersion", "apiVersion: v1\nkind: Deploymnt\n", []string{"error line 2: kind: no kind Deploymnt: did you mean Deployment of apps/v1?"}},
		{"a misspelt kind without an apiVersion", "kind: Statefulset\nmetadata: {name: a}\n", []string{"error line 1: kind: no kind Statefulset: did you mean StatefulSet of apps/v1?"}},
		{"another kind without an apiVersion", "kind: Kustomization\n", nil},
		{"a kind of another group that is near", "apiVersion: example.com/v1\nkind: Deploymnt\n", nil},
		{"no kind", "apiVersion: batch/v1\nmetadata: {name: a}\n", []string{"error line 1: kind: required"}},
		{"a kind of no text", "apiVersion: batch/v1\nkind: 1\n", []string{"error line 2: kind: must be a string"}},
		{"no apiVersion", strings.Replace(fine, "apiVersion: batch/v1\n", "", 1), []string{"error line 1: apiVersion: required: must be batch/v1"}},
		{"an old apiVersion", strings.Replace(with(cronJob, "", ""), "batch/v1", "batch/v1beta1", 1), []string{"error line 1: apiVersion: Kubernetes no longer has batch/v1beta1: must be batch/v1"}},
		{"a wrong apiVersion", strings.Replace(with(deployment, "", ""), "apps/v1", "v1", 1), []string{"error line 1: apiVersion: no kind Deployment in v1: must be apps/v1"}},
		{"a field of the pods", with(deployment, "SPEC", "restartPolicy: Always"), []string{"error line 5: spec.restartPolicy: unknown field: it belongs in spec.template.spec"}},
		{"a field of the Job", with(job, "POD", "backoffLimit: 1"), []string{"error line 8: spec.template.spec.backoffLimit: unknown field: it belongs in spec"}},
		{"a field of the Job of a CronJob", with(cronJob, "SPEC", "backoffLimit: 1"), []string{"error line 6: spec.backoffLimit: unknown field: it belongs in spec.jobTemplate.spec"}},
		{"a field of a security context", with(pod, "CONTAINER", "privileged: true"), []string{"error line 8: spec.containers[0].privileged: unknown field: it belongs in securityContext"}},
		{"a text", "some text\n", nil},
		{"a list", "[1, 2]\n", nil},
		{"many JSON values", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}` + "\n" + `{"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "a", "image": "x"}]}}`,
			[]string{"error line 1: spec.containers: required: a pod needs a container", "error line 2: metadata.name: required: an object needs a name or a generateName"}},
	} {
		if got := found(tt.text, Options{}); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestFileCountsWhatIsNotJudged(t *testing.T) {
	f := Parse("x", []byte("a: 1\n---\n- 1\n---\nb: {{ x }}\n---\nkind: Secret\nsops: {mac: x}\n---\napiVersion: v1\nkind: Secret\n---\n"+with(pod, "", "")))
	if f.NoObjects != 2 || f.Templated != 1 || f.Encrypted != 1 || len(f.Objects) != 2 || f.Objects[0].IsJudged() || !f.Objects[1].IsJudged() {
		t.Errorf("%+v", f)
	}
	if o := f.Objects[1]; o.Line != 13 || o.String() != "Pod a" || o.LineOf("spec.containers[0].image") != 19 {
		t.Errorf("line %d of %s, image on %d", o.Line, o, o.LineOf("spec.containers[0].image"))
	}
}

// spaces is a reader of spaces without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestReadIsBounded(t *testing.T) {
	if f := Read("x", spaces{}); len(f.Findings) != 1 || f.Findings[0].String() != "larger than 16 MiB" {
		t.Errorf("%v", f.Findings)
	}
	const most = 1 << 20
	largest := io.MultiReader(strings.NewReader("{"), io.LimitReader(spaces{}, most-2), strings.NewReader("}"))
	if f := read("x", largest, most); len(f.Findings) > 0 || f.NoObjects != 1 {
		t.Errorf("%v, %d documents without an object", f.Findings, f.NoObjects)
	}
	failing := io.MultiReader(strings.NewReader("a: 1\n"), readError{})
	if f := Read("x", failing); len(f.Findings) != 1 || f.Findings[0].Text != "broken" {
		t.Errorf("%v", f.Findings)
	}
}

type readError struct{}

func (readError) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestUnreadableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root reads every file")
	}
	if f := ReadFile(path); len(f.Findings) != 1 || f.Findings[0].String() != "permission denied" {
		t.Errorf("%v", f.Findings)
	}
}

// FuzzParse: nothing in a file makes it panic, and every finding names a line of it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		with(job, "SPEC", "podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [1]}}]}"),
		with(cronJob, "JOB", "completionMode: Indexed\ncompletions: 5\nbackoffLimitPerIndex: 1"), with(pod, "CONTAINER", "restartPolicy: Never\nrestartPolicyRules: [{action: Restart}]"),
		with(deployment, "", ""), "apiVersion: v1\nkind: List\nitems: [{kind: Pod, apiVersion: v1}, 3, null]", "apiVersion: batch/v1\nkind: Job\nspec: [",
		"{{ a }}", "kind: Job\nsops: {mac: 1}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := Parse("x", text)
		lines := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) + 2
		for _, object := range file.Objects {
			judgement := object.Judge(Options{Kubernetes: "1.30"})
			for _, finding := range judgement.Findings {
				if finding.Text == "" || finding.Line < 0 || finding.Line > lines {
					t.Errorf("%+v", finding)
				}
			}
			if judgement.WorstCase != nil {
				_ = judgement.WorstCase.String()
			}
		}
	})
}
