//go:build long

package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// byProgram returns what restart check says about a file, as the page words it.
func byProgram(t *testing.T, file string) (said []string) {
	t.Helper()
	text, err := exec.Command(program, "check", "-o", "json", file).Output()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	type finding struct {
		Severity, Field, Text string
		Line                  int
	}
	var report struct {
		Files []struct {
			Findings []finding
			Objects  []struct{ Findings []finding }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, f := range report.Files {
		all := f.Findings
		for _, o := range f.Objects {
			all = append(all, o.Findings...)
		}
		for _, one := range all {
			line := one.Severity
			if one.Line > 0 {
				line += fmt.Sprintf(" line %d", one.Line)
			}
			if one.Field != "" {
				line += " " + one.Field + ":"
			}
			said = append(said, line+" "+one.Text)
		}
	}
	return said
}

// shown returns the remarks of the page.
func (p *tab) shown() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll('#panel-check .remarks li')].map(e => [...e.children].map(c => c.textContent).join(' '))`)
}

// Every manifest of testdata is pasted. The page says about it what restart check says.
func TestPageSaysWhatCheckSays(t *testing.T) {
	p := open(t, "", 1200, false)
	manifests, findings := 0, 0
	for _, pattern := range []string{"*.yaml", "bad/*.[yj]*"} {
		files, err := filepath.Glob("../../../testdata/" + pattern)
		if err != nil || len(files) < 15 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsRune(string(text), 0) || strings.HasSuffix(file, "binary.yaml") {
				continue // no field of a page holds this text
			}
			p.enter("manifest", string(text))
			want, got := byProgram(t, file), p.shown()
			if len(want) == 0 && len(got) == 0 {
				manifests++
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" && !strings.ContainsAny(strings.Join(want, ""), "\a\x1b\u202e") {
				t.Errorf("%s: %s", file, diff)
			}
			manifests++
			findings += len(got)
		}
	}
	if manifests < 30 || findings < 30 {
		t.Errorf("%d manifests with %d findings", manifests, findings)
	}
}

// A button leads to the line of a mistake.
func TestLineOfAMistakeIsSelected(t *testing.T) {
	p := open(t, "", 1200, false)
	p.enter("manifest", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  paralelism: 3\n  template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}\n")
	if got := p.texts("#objects li"); len(got) != 1 || !strings.Contains(got[0], "line 5 spec.paralelism: unknown field: did you mean parallelism?") {
		t.Fatalf("%q", got)
	}
	p.act(`document.querySelector('#objects button').click()`)
	if got := eval[string](p, `document.getElementById('manifest').value.substring(document.activeElement.selectionStart, document.activeElement.selectionEnd)`); got != "  paralelism: 3" {
		t.Errorf("selected: %q", got)
	}
}

// Input about a pod changes the result of this pod, and of no other.
func TestPodsAreTried(t *testing.T) {
	p := open(t, "", 1200, false)
	before := p.texts(".tried")
	if len(before) != 4 || !strings.Contains(before[0], "failure 1 of index 0, limit 1") || !strings.Contains(before[2], "Rule 1 (Ignore): not counted. The replacement starts 10s after") {
		t.Fatalf("%q", before)
	}
	p.act(`const f = document.querySelectorAll('.trial')[0].querySelectorAll('input')[2]; f.value = '1'; f.dispatchEvent(new Event('input', {bubbles: true})); show()`)
	after := p.texts(".tried")
	if !strings.Contains(after[0], "failure 2 of index 0, limit 1: the index has failed. No replacement") || after[1] != before[1] || after[2] != before[2] {
		t.Errorf("%q", after)
	}
	p.act(`document.getElementById('trial-add').click()`)
	if n := len(p.texts(".tried")); n != 5 {
		t.Errorf("%d pods", n)
	}
	p.act(`document.querySelectorAll('.trial button')[1].click()`)
	if got := p.texts(".tried"); len(got) != 4 || got[0] != after[0] || got[1] != before[2] {
		t.Errorf("%q", got)
	}
}
