//go:build long

package browsertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// axe is the version of axe-core, which looks for what keeps people from using a page.
const axe = "axe-core@4.11.0"

// axeSource returns the text of axe-core: of the file that AXE names, or by npm, which
// keeps it in its cache. Without npm the test is skipped.
func axeSource(t *testing.T) string {
	t.Helper()
	file := os.Getenv("AXE")
	if file == "" {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("no npm here, and AXE names no axe.min.js: the page is not looked at by axe")
		}
		folder := t.TempDir()
		var err error
		for range 3 { // the network may fail
			install := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefer-offline", "--prefix", folder, axe)
			var said []byte
			if said, err = install.CombinedOutput(); err == nil {
				break
			}
			err = fmt.Errorf("npm install %s: %w\n%s", axe, err, said)
		}
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	}
	text, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(text), "axe") {
		err = errors.New(file + " is not axe-core")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// violations returns what axe finds in the page as it is shown, and how many rules it
// tried.
func (p *tab) violations() (found []string, rules int) {
	p.t.Helper()
	result := eval[struct {
		Found []string
		Rules int
	}](p, `axe.run(document, {resultTypes: ['violations']}).then(r => ({
		Found: r.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 200) + ' ' + n.failureSummary.slice(0, 300))),
		Rules: r.passes.length + r.violations.length,
	}))`)
	return result.Found, result.Rules
}

// inspect fails the test on what axe finds.
func (p *tab) inspect(state string) {
	p.t.Helper()
	found, rules := p.violations()
	for _, v := range found {
		p.t.Errorf("%s: %s", state, v)
	}
	if rules < 10 {
		p.t.Errorf("%s: only %d rules were tried", state, rules)
	}
}

// axe finds nothing, on any tab, with mistakes and without, light and dark, narrow and
// wide. It does find what is wrong.
func TestAxeFindsNothing(t *testing.T) {
	source := axeSource(t)
	for _, screen := range []struct {
		width int64
		dark  bool
	}{{390, false}, {390, true}, {1024, false}, {1920, true}} {
		width, dark := screen.width, screen.dark
		p := open(t, "", width, dark)
		eval[bool](p, source+"\n;true")
		state := func(name string) string { return fmt.Sprintf("%s, %d pixels, dark %v", name, width, dark) }
		for _, name := range []string{"check", "run", "curves"} {
			p.choose(name)
			p.inspect(state(name))
		}
		p.act(`for (let n = 0; n < 2; n++) { document.getElementById('policy-add').click(); await show(); }`)
		p.enter("nodeMax", "20s")
		p.inspect(state("four policies and notes"))
		p.enter("nodeMax", "x")
		p.inspect(state("a mistake in the settings"))
		p.choose("check")
		p.enter("manifest", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: A}\nspec: {paralelism: 3}\n")
		p.inspect(state("mistakes"))
		p.choose("run")
		p.inspect(state("mistakes on Run"))
		if width == 390 && dark {
			p.act(`document.body.append(node('img', {}), node('input', {}))`)
			if found, _ := p.violations(); len(found) < 2 {
				t.Errorf("an input without a name is no violation: %q", found)
			}
		}
	}
}
