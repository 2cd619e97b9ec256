//go:build long

package browsertest

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// attacks are texts that would run, if they were taken for more than a text.
var attacks = []string{
	`<script>window.attacked=1</script>`,
	`<img src=x onerror=window.attacked=1>`,
	`<svg onload=window.attacked=1>`,
	`</title></svg><script>window.attacked=1</script>`,
	`"><iframe srcdoc="<script>parent.attacked=1</script>">`,
	`javascript:window.attacked=1`,
	`'+(window.attacked=1)+'`,
	`\u003cscript>window.attacked=1\u003c/script>`,
	`]]><script>window.attacked=1</script>`,
	`}</style><script>window.attacked=1</script>`,
}

// unharmed checks that nothing was executed, and that nothing of the text became part of
// the page.
func (p *tab) unharmed(about string) {
	p.t.Helper()
	p.settle()
	if eval[bool](p, `'attacked' in window`) {
		p.t.Fatalf("%s: executed", about)
	}
	if n := eval[int](p, `document.querySelectorAll('script, iframe, img:not(#charts img), object, embed, svg script, [onload], [onerror]').length - 1`); n != 0 {
		p.t.Fatalf("%s: %d elements too many", about, n)
	}
}

// quoted is a text in YAML.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Texts with scripts are shown as texts, wherever they are pasted.
func TestNothingPastedIsExecuted(t *testing.T) {
	p := open(t, "", 1200, false)
	shown := 0
	for _, attack := range attacks {
		q := quoted(attack)
		manifests := map[string]string{
			"the text":      attack,
			"a key":         "apiVersion: batch/v1\nkind: Job\n" + q + ": 1\nmetadata: {name: a, " + q + ": 2}\nspec: {" + q + ": {}}\n",
			"a name":        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + q + "}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: " + q + "}]}}}\n",
			"a kind":        "kind: " + q + "\n",
			"a JSON key":    `{"kind": "Job", "` + strings.ReplaceAll(strings.ReplaceAll(attack, `\`, `\\`), `"`, `\"`) + `": 1}`,
			"a condition":   "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: " + q + "}]}]}, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}\n",
			"an annotation": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, annotations: {" + q + ": " + q + "}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: " + q + ", env: [{name: A, value: " + q + "}]}]}}}\n",
		}
		for where, manifest := range manifests {
			p.enter("manifest", manifest)
			for _, name := range []string{"run", "check"} {
				p.choose(name)
				p.unharmed(where + " " + attack)
			}
			if text := eval[string](p, `document.getElementById('columns').textContent`); strings.Contains(text, "window.attacked=1") || strings.Contains(text, "parent.attacked") {
				shown++
			}
		}
		p.enter("manifest", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}\n")
		p.act(`state.job = $; show()`, attack)
		p.unharmed("the Job's name")
		p.act(`state.job = ''; show()`)
		p.act(`for (const f of document.querySelectorAll('.trial input:not([type=number])')) { f.value = $; f.dispatchEvent(new Event('input')); } show()`, attack)
		p.unharmed("a pod")
		p.choose("run")
		p.enter("script", "*: "+attack+"\n"+attack+": 1\n")
		p.unharmed("a script")
		p.choose("curves")
		p.act(`for (const f of document.querySelectorAll('#policies input:not([type=range]):not([aria-label]), #policies .slider input:not([type=range]), #nodeMax')) { f.value = $; f.dispatchEvent(new Event('input')); } show()`, attack)
		p.unharmed("a policy")
		p.act(`state.curves = {policies: [{name: $, initial: '1s', max: '1m', factor: 2, jitter: 0, reset: ''}]}; policyShape = ''; show()`, attack)
		p.unharmed("a policy's name")
		if len(p.texts("#charts figcaption")) != 2 {
			t.Errorf("%s: no pictures", attack)
		}
		p.choose("check")
	}
	if shown < 2*len(attacks) {
		t.Errorf("%d texts were shown", shown)
	}
	t.Logf("%d texts, each pasted in 12 places, %d times shown as text", len(attacks), shown)
}

// A fragment is a state, or a notice is shown.
func TestNothingInAFragmentIsExecuted(t *testing.T) {
	raw := func(text string) string { return "#1" + base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, attack := range []string{attacks[0], attacks[4]} {
		for where, fragment := range map[string]string{
			"as it is":   "#" + attack,
			"escaped":    "#" + url.PathEscape(attack),
			"of version": "#1" + attack,
			"unpacked":   raw(attack),
			"half":       "#1%",
		} {
			p := open(t, fragment, 800, false)
			p.unharmed("a fragment " + where)
			if notice := p.texts("#notice"); len(notice) != 1 || !strings.Contains(notice[0], "The link is damaged") {
				t.Errorf("%s: %q", where, notice)
			}
		}
	}
	p := open(t, "", 800, false)
	for _, state := range []string{
		`{"tab":"<script>window.attacked=1</script>","manifest":"<script>window.attacked=1</script>"}`,
		`{"tab":"run","manifest":3}`, `{"tab":"curves","curves":{"policies":[{"name":"<img src=x onerror=window.attacked=1>","initial":"<b>","max":"1s"}]}}`, `[]`, `{"__proto__":{"attacked":1},"trials":[null,{}]}`,
	} {
		eval[bool](p, `pack($).then(link => { location.hash = link; return true; })`, state)
		p.await(`location.hash === written || document.getElementById('notice').textContent !== ''`)
		p.unharmed(state)
	}
}

// The page's policy refuses what a defect might try.
func TestPageCannotSendAnything(t *testing.T) {
	p := open(t, "", 800, false)
	for what, attempt := range map[string]string{
		"another origin":  `fetch('https://example.invalid/').then(() => 'done', () => 'refused')`,
		"a picture":       `new Promise(r => { const i = new Image(); i.onload = () => r('done'); i.onerror = () => r('refused'); i.src = '/x.png'; })`,
		"HTML":            `(() => { try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return 'done'; } catch { return 'refused'; } })()`,
		"an inline style": `(() => { const e = document.createElement('style'); e.textContent = 'body{display:none}'; document.head.append(e); return getComputedStyle(document.body).display === 'none' ? 'done' : 'refused'; })()`,
		"eval in a timer": `new Promise(r => { window.told = r; try { setTimeout("told('done')", 0); setTimeout(() => r('refused'), 100); } catch { r('refused'); } })`,
	} {
		if got := eval[string](p, attempt); got != "refused" {
			t.Errorf("%s: %s", what, got)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.trouble) < 3 {
		t.Errorf("the console says only %q", p.trouble)
	}
	p.trouble, p.requests = nil, nil // they were asked for
}

// Bad and huge texts are answered, and the page goes on.
func TestBadTextsAreAnswered(t *testing.T) {
	p := open(t, "", 800, false)
	valid := eval[string](p, `document.getElementById('manifest').value`)
	for what, tt := range map[string]struct{ text, want string }{
		"a tab":             {"a: 1\nb:\n\tc: 2\n", "error line 3"},
		"an open list":      {"a: [1, 2\nb: 3\n", "error"},
		"half of JSON":      {`{"kind": "Job", `, "error"},
		"nothing":           {" \n", "0 objects judged: nothing found."},
		"aliases":           {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f]\n", "error"},
		"5 MB":              {strings.Repeat("x: y # 5 MB\n", 5<<20/12), "this page reads at most 262144"},
		"a list of 200 KB":  {"a: [" + strings.Repeat("x,", 100_000) + "]\n", "judged"},
		"deep":              {strings.Repeat("[", 100_000), "error"},
		"deep in a line":    {strings.Repeat("- ", 100_000), "error"},
		"lone surrogates":   {"kind: Job\nmetadata: {name: '\ufffd'}\n", "error"},
		"right to left":     {"apiVersion: v1\nkind: \u202eboJ\n", "judged"},
		"lines of Windows":  {"kind: Pod\r\n", "line 1"},
		"no line at an end": {"kind: Pod", "line 1"},
	} {
		begun := time.Now()
		p.enter("manifest", tt.text)
		got := strings.Join(p.shown(), "\n") + "\n" + strings.Join(p.texts("#summary"), "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.500s", what, got)
		}
		p.choose("run")
		p.choose("check")
		t.Logf("%s: answered in %v", what, time.Since(begun).Round(time.Millisecond))
	}
	p.enter("manifest", valid)
	if got := p.texts("#summary"); got[0] != "1 object judged: nothing found." {
		t.Errorf("%q", got)
	}
}

// A paste of more than the page reads is refused at once, with the limit.
func TestPasteIsLimited(t *testing.T) {
	p := open(t, "", 800, false)
	const paste = `(() => {
		const data = new DataTransfer();
		data.setData('text/plain', 'x'.repeat($));
		const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
		document.getElementById('manifest').dispatchEvent(event);
		return event.defaultPrevented;
	})()`
	if eval[bool](p, paste, 1000) {
		t.Error("a short text is refused")
	}
	if !eval[bool](p, paste, 5<<20) {
		t.Error("5 MB are taken")
	}
	if notice := p.texts("#notice"); len(notice) != 1 || !strings.Contains(notice[0], "reads at most 262,144") {
		t.Errorf("%q", notice)
	}
}

// The link keeps the input, and shows it in another browser.
func TestLinkShowsWhatOneSaw(t *testing.T) {
	p := open(t, "", 1000, false)
	p.enter("manifest", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: linked}\nspec: {backoffLimit: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}\n")
	p.act(`const f = document.querySelector('.trial input'); f.value = '7'; f.dispatchEvent(new Event('input')); show()`)
	p.choose("run")
	p.enter("script", "*: 3, 0\n")
	p.click("step-first")
	p.click("step-next")
	p.click("step-next")
	p.choose("curves")
	p.click("reduce")
	p.enter("nodeMax", "20s")
	// Line numbers follow a panel that is shown within a few frames.
	look := `(async () => { const out = []; for (const t of ['curves', 'run', 'check']) { state.tab = t; await show(); for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame); out.push(document.getElementById('summary').textContent, document.getElementById('panel-' + t).innerText, [...document.querySelectorAll('#panel-' + t + ' input, #panel-' + t + ' textarea')].map(f => f.type === 'checkbox' ? f.checked : f.value).join('|')); } return out.join('\n'); })()`
	first := eval[string](p, look)
	eval[bool](p, `(async () => { await writeLink(); return true; })()`)
	link := eval[string](p, `location.hash`)
	again := open(t, link, 1000, false)
	if second := eval[string](again, look); second != first {
		t.Error("the link shows something else:", cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")))
	}
	for _, want := range []string{"no failure policy", "linked", "failure 1 of the Job, limit 2", "exit code 3", "1s to 1m"} {
		if !strings.Contains(first, want) {
			t.Errorf("never %q in\n%s", want, first)
		}
	}
	t.Logf("a link of %d characters", len(link))
}
