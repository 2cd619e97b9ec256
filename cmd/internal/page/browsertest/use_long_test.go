//go:build long

package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focus returns what has the focus.
func (p *tab) focus() string {
	p.t.Helper()
	return eval[string](p, `document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.tagName`)
}

func (p *tab) press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// The page is used by keys alone.
func TestPageIsUsedByKeysAlone(t *testing.T) {
	p := open(t, "", 1000, false)
	p.press(kb.Tab)
	if got := p.focus(); got != "skip" {
		t.Errorf("first is %s", got)
	}
	p.press(kb.Tab)
	if got := p.focus(); got != "tab-check" {
		t.Fatalf("then comes %s", got)
	}
	p.press(kb.ArrowRight)
	if got := p.focus(); got != "tab-run" || len(p.texts("#panel-run")) != 1 || len(p.texts("#panel-check")) != 0 {
		t.Errorf("the arrow leads to %s", got)
	}
	reached := []string{}
	for range 60 {
		p.press(kb.Tab)
		reached = append(reached, p.focus())
		if reached[len(reached)-1] == "copy" {
			break
		}
	}
	for _, want := range []string{"example", "manifest", "script", "step-first", "step", "run-picture", "copy"} {
		if !slices.Contains(reached, want) {
			t.Errorf("%s is not reached: %v", want, reached)
		}
	}
	steps := func() string { return p.texts("#step-text")[0] }
	if got := steps(); got != "6 of 6, after 32s" {
		t.Fatalf("step %s", got)
	}
	p.act(`document.getElementById('step').focus()`)
	p.press(kb.ArrowLeft)
	if got := steps(); got != "5 of 6, after 22s" {
		t.Errorf("an arrow on the slider leads to %s", got)
	}
	p.act(`document.getElementById('step-first').focus()`)
	p.press(kb.Enter)
	if got := steps(); got != "1 of 6, after 0s" {
		t.Errorf("Enter leads to %s", got)
	}
	p.act(`document.getElementById('step-next').focus()`)
	p.press(" ")
	if got := steps(); got != "2 of 6, after 1s" {
		t.Errorf("space leads to %s", got)
	}
	p.act(`document.getElementById('tab-run').focus()`)
	p.press(kb.End)
	if got := p.focus(); got != "tab-curves" {
		t.Errorf("End leads to %s", got)
	}
	before := p.texts("#curves-table")[0]
	p.act(`document.querySelector('#policies input[type=range]').focus()`)
	p.press(kb.ArrowRight)
	p.await(`document.getElementById('curves-table').textContent !== $`, before)
	if got := eval[string](p, `document.activeElement.getAttribute('aria-label') + ' ' + document.activeElement.getAttribute('aria-valuetext')`); got != "curve 1: initial 20s" {
		t.Errorf("the slider says %s", got)
	}
}

// Everything that can be used has a name for those who do not see it, and every picture
// has a title.
func TestEverythingHasAName(t *testing.T) {
	p := open(t, "", 1000, false)
	counted := make(map[string]int)
	for _, name := range []string{"check", "run", "curves"} {
		p.choose(name)
		tree := result(p, chromedp.Action[accessibility.GetFullAXTreeResult](func(ctx context.Context, t *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
			return cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		}))
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role := strings.Trim(string(n.Role.Value), `"`)
			switch role {
			case "button", "textbox", "combobox", "slider", "spinbutton", "checkbox", "tab", "tabpanel", "region", "img", "image", "tablist":
				counted[role]++
				if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
					t.Errorf("%s: a %s without a name: %s", name, role, fmt.Sprint(n.Description))
				}
			}
		}
	}
	t.Log(counted)
	for _, role := range []string{"button", "textbox", "slider", "tab", "combobox", "checkbox"} {
		if counted[role] == 0 {
			t.Errorf("no %s", role)
		}
	}
}

func TestEveryTabIsPrinted(t *testing.T) {
	p := open(t, "", 1000, true)
	for _, name := range []string{"check", "run", "curves"} {
		p.choose(name)
		text := result(p, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground()))
		if !bytes.HasPrefix(text, []byte("%PDF-")) || len(text) < 10_000 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		p.keep(name+"-print.pdf", text)
	}
	p.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	for _, name := range []string{"check", "run", "curves"} {
		p.act(`state.tab = $; show(); dispatchEvent(new Event('beforeprint'))`, name)
		p.keep(name+"-print.png", result(p, chromedp.FullScreenshot(100)))
	}
}

// Pods that were entered stay while the manifest is written, unless its containers are
// others.
func TestEnteredPodsOutliveEditing(t *testing.T) {
	manifest := func(more, container string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  backoffLimit: " + more + "\n  template: {spec: {restartPolicy: Never, containers: [{name: " + container + ", image: x}]}}\n"
	}
	p := open(t, "", 1200, false)
	p.enter("manifest", manifest("3", "main"))
	code := func() string { return eval[string](p, `document.querySelector('.trial input').value`) }
	suggested := code()
	p.act(`const f = document.querySelector('.trial input'); f.value = '77'; f.dispatchEvent(new Event('input')); show()`)
	p.enter("manifest", manifest("x", "main"))
	p.enter("manifest", manifest("4", "main"))
	if got := code(); got != "77" {
		t.Errorf("exit code %s is left of 77", got)
	}
	p.enter("manifest", manifest("4", "other"))
	if got := code(); got != suggested {
		t.Errorf("exit code %s, want %s", got, suggested)
	}
}

// A list can be emptied and filled again, and no number in a field ends the page.
func TestListsAreEmptiedAndNumbersBounded(t *testing.T) {
	p := open(t, "", 1200, false)
	for n := len(p.texts(".trial")); n > 0; n-- {
		p.act(`document.querySelector('.trial button').click(); show()`)
	}
	if got := p.texts(".trial"); len(got) != 0 {
		t.Errorf("%d pods are back", len(got))
	}
	p.act(`document.getElementById('trial-add').click()`)
	p.act(`for (const f of document.querySelectorAll('.trial input[type=number]')) { f.value = '1e30'; f.dispatchEvent(new Event('input')); } show()`)
	if got := p.texts(".trial"); len(got) != 1 || len(p.texts("#notice")) != 0 {
		t.Errorf("%q %q", got, p.texts("#notice"))
	}
	p.choose("curves")
	for range 2 {
		p.act(`document.querySelector('#policies .row button').click()`)
	}
	if got := p.texts("#summary"); len(got) != 1 || got[0] != "No policy to draw." {
		t.Errorf("%q", got)
	}
	p.act(`document.getElementById('policy-add').click()`)
	if got := p.texts("#policies fieldset"); len(got) != 1 {
		t.Errorf("%d policies", len(got))
	}
	field := func(label, value string) {
		t.Helper()
		p.act(`const f = document.querySelector('[aria-label="' + $ + ', exactly"]'); f.value = $; f.dispatchEvent(new Event('input')); show()`, label, value)
	}
	field("pods", "99999999999999999999")
	if got := p.texts("#curves-table .error"); len(got) != 0 || len(p.texts("#notice")) != 0 {
		t.Errorf("%q %q", got, p.texts("#notice"))
	}
	for _, label := range []string{"factor", "jitter"} {
		field("curve 1: "+label, "1,5")
		if got := p.texts("#curves-table .error"); len(got) != 1 || !strings.Contains(strings.ToLower(got[0]), label) {
			t.Errorf("%s: %q", label, got)
		}
		field("curve 1: "+label, "1")
	}
}
