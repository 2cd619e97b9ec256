//go:build long

package browsertest

import (
	"os/exec"
	"strings"
	"testing"
)

// box is where an element is, in pixels.
type box struct{ Left, Right, Top, Bottom float64 }

func (p *tab) box(selector string) box {
	p.t.Helper()
	return eval[box](p, `(({left, right, top, bottom}) => ({Left: left, Right: right, Top: top, Bottom: bottom}))(document.querySelector($).getBoundingClientRect())`, selector)
}

// The chart is visible while a slider moves, beside it on a wide page and above it on a
// narrow one, even far down.
func TestChartsAreBesideTheSliders(t *testing.T) {
	for _, width := range []int64{390, 1024, 1920} {
		p := open(t, "", width, false)
		p.choose("curves")
		for _, slider := range []string{"#policies fieldset:first-child .slider", "#shared .slider:last-of-type"} {
			p.act(`document.querySelector($).scrollIntoView({block: 'center', behavior: 'instant'})`, slider)
			chart, at := p.box("#curves-pictures svg"), p.box(slider)
			beside := chart.Left >= at.Right && width > 1000
			if seen := chart.Top >= -1 && chart.Bottom <= 900 && chart.Left >= 0 && chart.Right <= float64(width); !seen || !beside && chart.Bottom > at.Top {
				t.Errorf("%d pixels: the chart is at %+v, the slider %s at %+v", width, chart, slider, at)
			}
		}
		if !strings.Contains(p.texts("#curves-pictures")[0], "kubelet-reduced") || strings.Count(p.texts("#curves-table")[0], "in the long run") != 1 {
			t.Errorf("%q, %q", p.texts("#curves-pictures"), p.texts("#curves-table"))
		}
	}
}

// Beside each line that a field shows stands its number, wherever it is scrolled to.
func TestLinesHaveTheirNumbers(t *testing.T) {
	p := open(t, "", 1200, false)
	text := strings.Repeat("a: 1\n", 52_000)
	p.enter("manifest", text)
	for _, line := range []float64{1, 2, 500, 51_990} {
		p.act(`const f = document.getElementById('manifest'); f.scrollTop = ($ - 1) * f.scrollHeight / 52001; await new Promise(r => requestAnimationFrame(() => setTimeout(r, 0)))`, line)
		got := eval[[]float64](p, `(() => {
			const f = document.getElementById('manifest'), n = f.parentNode.querySelector('.numbers'), height = (f.scrollHeight - 2 * parseFloat(getComputedStyle(f).paddingTop)) / 52001;
			const first = Number(n.textContent.split('\n')[0]), shown = n.textContent.split('\n').length;
			const text = f.getBoundingClientRect().top + 1 + parseFloat(getComputedStyle(f).paddingTop) + (first - 1) * height - f.scrollTop;
			const number = n.getBoundingClientRect().top + parseFloat(getComputedStyle(n).paddingTop);
			return [first, shown, text - number, f.clientHeight / height];
		})()`)
		first, shown, apart, fit := got[0], got[1], got[2], got[3]
		if first > line || first+shown < min(line+fit-1, 52_002) || shown > fit+3 || apart < -1 || apart > 1 {
			t.Errorf("from line %v on, %v lines fit: %v numbers from %v on, %.1f pixels apart", line, fit, shown, first, apart)
		}
	}
	p.enter("manifest", "a: 1\n")
	p.await(`!document.querySelector('#input .numbers').textContent.includes('3')`)
	if got := p.texts("#input .numbers"); len(got) != 1 || got[0] != "1\n2" {
		t.Errorf("%q", got)
	}
}

// The page says which Kubernetes it follows, and what it is built from.
func TestPageSaysWhatItIs(t *testing.T) {
	p := open(t, "", 1200, false)
	text := p.texts("#about")[0]
	link := eval[string](p, `document.querySelector('#about a').href`)
	if !strings.HasPrefix(text, "Decides as Kubernetes 1.") || !strings.HasPrefix(link, "https://github.com/restartkit/restart") || strings.Contains(text+link, "{{") {
		t.Errorf("%s %s", text, link)
	}
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if id := strings.TrimSpace(string(commit)); err == nil && (!strings.HasSuffix(link, "/tree/"+id) || !strings.Contains(text, id[:12])) {
		t.Errorf("%s %s, built from %s", text, link, id)
	}
}

// While the program works on a text that takes it long, the page can be used: it runs
// other things all the time, and shows another tab. How long the browser itself needs to
// lay out the lines of a field is up to it, so that is over before.
func TestPageAnswersWhileItCalculates(t *testing.T) {
	p := open(t, "", 1200, false)
	p.act(`window.laidOut = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))`)
	for name, text := range map[string]string{
		"30,000 keys":     strings.Repeat("a: 1\n", 30_000),
		"3000 containers": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n" + strings.Repeat("      - {name: c, image: x, env: [{name: A, value: b}]}\n", 3000),
	} {
		// Each turn is a task of its own. A page that calculates itself has none between the
		// question and the answer.
		got := eval[[]float64](p, `(async () => {
			const f = document.getElementById('manifest');
			f.value = $;
			f.dispatchEvent(new Event('input', {bubbles: true}));
			clearTimeout(pending);
			await laidOut();
			const begun = performance.now();
			let turns = 0, longest = 0, last = begun, done = false;
			const channel = new MessageChannel();
			channel.port1.onmessage = () => {
				turns++;
				longest = Math.max(longest, performance.now() - last);
				last = performance.now();
				if (!done) channel.port2.postMessage(0);
			};
			channel.port2.postMessage(0);
			await show();
			done = true;
			return [turns, longest, performance.now() - begun];
		})()`, text)
		turns, longest, whole := got[0], got[1], got[2]
		t.Logf("%s: answered after %.0f ms, the longest task took %.0f ms, %.0f others ran", name, whole, longest, turns)
		if turns < 20 {
			t.Errorf("%s: only %.0f tasks ran in the meantime", name, turns)
		}
	}
	p.act(`const f = document.getElementById('manifest'); f.value = $; f.dispatchEvent(new Event('input', {bubbles: true})); show(); document.getElementById('tab-curves').click(); window.seen = [working !== null, document.getElementById('panel-curves').checkVisibility()]`, strings.Repeat("b: 1\n", 5000))
	if got := eval[[]bool](p, `window.seen`); !got[0] || !got[1] {
		t.Errorf("at work: %v, the other tab is shown: %v", got[0], got[1])
	}
	if got := p.texts("#curves-pictures svg"); len(got) != 2 {
		t.Errorf("%d charts", len(got))
	}
}
