//go:build long

package browsertest

import (
	"strings"
	"testing"
)

// box is where an element is, in pixels.
type box struct{ Left, Right, Top, Bottom float64 }

func (p *tab) box(selector string) box {
	p.t.Helper()
	return eval[box](p, `(({left, right, top, bottom}) => ({Left: left, Right: right, Top: top, Bottom: bottom}))(document.querySelector($).getBoundingClientRect())`, selector)
}

// On a wide page the charts stand beside the sliders and stay visible while these move. On
// a narrow one both stand above the sliders, under each other.
func TestChartsAreBesideTheSliders(t *testing.T) {
	for _, width := range []int64{390, 1024, 1920} {
		p := open(t, "", width, false)
		p.choose("curves")
		first, second := p.box("#charts figure:first-child"), p.box("#charts figure:last-child")
		if second.Top < first.Bottom || first.Left != second.Left || first.Left < 0 || first.Right > float64(width) {
			t.Errorf("%d pixels: the charts are at %+v and %+v", width, first, second)
		}
		for _, slider := range []string{"#policies fieldset:first-child .slider", "#shared .slider:last-of-type"} {
			p.act(`document.querySelector($).scrollIntoView({block: 'center', behavior: 'instant'})`, slider)
			chart, at := p.box("#charts figure:first-child img"), p.box(slider)
			if width < 960 {
				if chart.Bottom > at.Top {
					t.Errorf("%d pixels: the chart is at %+v, the slider %s at %+v", width, chart, slider, at)
				}
				continue
			}
			if chart.Top < -1 || chart.Bottom > 900 || chart.Left < at.Right {
				t.Errorf("%d pixels: the chart is at %+v, the slider %s at %+v", width, chart, slider, at)
			}
		}
		if text := eval[string](p, `document.querySelector('#charts img').alt`); !strings.Contains(text, "kubelet-reduced: 34") {
			t.Errorf("the chart is described as %q", text)
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
