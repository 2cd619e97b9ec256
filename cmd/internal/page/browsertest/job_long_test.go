//go:build long

package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// remarks are what is said about a manifest.
type remarks struct{ Mistakes, Findings, Worst []string }

// runjob returns the path of the program, built once.
var runjob = sync.OnceValues(func() (string, error) { return built("runjob") })

// byProgram returns a command of runjob.
func byProgram(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := runjob()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}

// byRunjob returns what runjob -dry-run says about a manifest.
func byRunjob(t *testing.T, file string) (s remarks) {
	t.Helper()
	cmd := byProgram(t, "-dry-run", file)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	valid, worst := false, false
	for line := range strings.Lines(stdout.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasSuffix(line, " is valid"):
			valid = true
		case strings.HasPrefix(line, "not used here: "), strings.HasPrefix(line, "its pods would wait: "):
		case line == "worst case:":
			worst = true
		case worst:
			s.Worst = append(s.Worst, strings.Join(strings.Fields(line), " "))
		default:
			s.Findings = append(s.Findings, line)
		}
	}
	if valid != (err == nil) {
		t.Fatalf("%s: %v\n%s%s", file, err, stdout.String(), stderr.String())
	}
	if valid {
		return s
	}
	head, rest, _ := strings.Cut(stderr.String(), "\n")
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); !onlyProcesses(line) {
			s.Mistakes = append(s.Mistakes, line)
		}
	}
	if rest == "" { // one mistake of the file, on one line
		_, text, _ := strings.Cut(head, file+": ")
		before, line, found := strings.Cut(text, "line ")
		if number, what, colon := strings.Cut(line, ": "); found && colon && !strings.ContainsAny(number, " )") {
			text = "line " + number + ": " + before + what
		}
		s.Mistakes = []string{strings.ReplaceAll(text, "-job ", "the name ")}
	}
	return s
}

// onlyProcesses reports whether a mistake is about what processes cannot do; the page is
// about clusters.
func onlyProcesses(text string) bool {
	for _, part := range []string{"images are ignored", "nothing would ever run", "must name a program", "only the pod's restartPolicy is used", "another controller runs this Job", "a process has none", "must be metadata.name, .namespace"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// shown returns what the page says.
func (p *tab) shown() remarks {
	p.t.Helper()
	return remarks{
		Mistakes: eval[[]string](p, `[...document.querySelectorAll('#mistakes li')].map(e => [e.querySelector('button')?.textContent, e.querySelector('.text').textContent].filter(t => t).join(': '))`),
		Findings: p.texts("#findings li .text"),
		Worst:    p.texts("#worst tbody tr"),
	}
}

// Every manifest of testdata is pasted; the page says about it what runjob -dry-run says.
func TestPageSaysOfManifestsWhatRunjobSays(t *testing.T) {
	p := open(t, "", 1200, false)
	counted := make(map[string]int)
	for _, pattern := range []string{"*.yaml", "bad/*.[yj]*"} {
		files, err := filepath.Glob("../../testdata/" + pattern)
		if err != nil || len(files) < 15 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := byRunjob(t, file)
			for i, line := range want.Worst {
				want.Worst[i] = strings.Replace(line, " ", "", 1) // the page has it in columns
			}
			p.enter("manifest", string(text))
			got := p.shown()
			for i, line := range got.Mistakes { // runjob has another way to write one character
				got.Mistakes[i] = strings.ReplaceAll(line, `\a`, `\x07`)
			}
			sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) } // nil if there is none
			if len(want.Mistakes) == 0 && want.Worst == nil {                                    // runjob refuses only what a process cannot do
				want.Findings, want.Worst, got.Findings, got.Worst = nil, nil, nil, nil
				counted["refused by runjob only"]++
			}
			want.Mistakes, got.Mistakes = sorted(want.Mistakes), sorted(got.Mistakes)
			want.Findings, got.Findings = sorted(want.Findings), sorted(got.Findings)
			want.Worst, got.Worst = sorted(want.Worst), sorted(got.Worst)
			if strings.ContainsRune(string(text), 0) || strings.HasSuffix(file, "binary.yaml") {
				continue // no field of a page holds this text
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
			counted["manifests"]++
			counted["mistakes"] += len(got.Mistakes)
			counted["findings"] += len(got.Findings)
			counted["worst cases"] += min(len(got.Worst), 1)
		}
	}
	t.Log(counted)
	for _, what := range []string{"manifests", "mistakes", "findings", "worst cases", "refused by runjob only"} {
		if counted[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
}

// A button leads to the line of a mistake.
func TestLineOfAMistakeIsSelected(t *testing.T) {
	p := open(t, "", 1200, false)
	p.enter("manifest", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  paralelism: 3\n  template: {spec: {restartPolicy: Never, containers: [{name: main}]}}\n")
	if got := p.texts("#mistakes li"); len(got) != 1 || !strings.Contains(got[0], "line 5 spec.paralelism: unknown field: did you mean parallelism?") {
		t.Fatalf("%q", got)
	}
	p.act(`document.querySelector('#mistakes button').click()`)
	if got := eval[string](p, `document.getElementById('manifest').value.substring(document.activeElement.selectionStart, document.activeElement.selectionEnd)`); got != "  paralelism: 3" {
		t.Errorf("selected: %q", got)
	}
}

// Input about a pod changes the result of this pod, and of no other.
func TestPodsAreTried(t *testing.T) {
	p := open(t, "", 1200, false)
	before := p.texts(".tried")
	if len(before) != 3 || !strings.Contains(before[0], "failure 1 of index 0, limit 1") || !strings.Contains(before[2], "rule 0 (Ignore): not counted. The replacement starts 10s after") {
		t.Fatalf("%q", before)
	}
	p.act(`const f = document.querySelectorAll('.trial')[0].querySelectorAll('input')[2]; f.value = '1'; f.dispatchEvent(new Event('input', {bubbles: true})); show()`)
	after := p.texts(".tried")
	if !strings.Contains(after[0], "failure 2 of index 0, limit 1: the index has failed. No replacement") || after[1] != before[1] || after[2] != before[2] {
		t.Errorf("%q", after)
	}
	p.act(`document.getElementById('trial-add').click()`)
	if n := len(p.texts(".tried")); n != 4 {
		t.Errorf("%d pods", n)
	}
	p.act(`document.querySelectorAll('.trial button')[1].click()`)
	if got := p.texts(".tried"); len(got) != 3 || got[0] != after[0] || got[1] != before[2] {
		t.Errorf("%q", got)
	}
}
