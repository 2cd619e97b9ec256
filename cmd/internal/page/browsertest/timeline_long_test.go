//go:build long

package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// timelinePage returns the address of the page that restart job draws of a run of that many
// indexes: each of them runs for a tenth of a second, one after the other, and every
// seventh fails.
func timelinePage(t *testing.T, indexes int) string {
	t.Helper()
	var events strings.Builder
	line := func(ms int, format string, args ...any) {
		fmt.Fprintf(&events, `{"time":"2026-03-01T12:%02d:%02d.%03dZ","job":"drawn",%s}`+"\n", ms/60_000, ms/1000%60, ms%1000, fmt.Sprintf(format, args...))
	}
	line(0, `"event":"began"`)
	for i := range indexes {
		of := fmt.Sprintf(`"pod":"drawn-%d","index":%d,"attempt":1`, i, i)
		line(100*i, `"event":"created",%s`, of)
		line(100*i, `"event":"started",%s`, of)
		if i%7 == 6 {
			line(100*i+100, `"event":"failed","exitCode":1,"counted":true,%s`, of)
			line(100*i+100, `"event":"indexFailed","index":%d`, i)
		} else {
			line(100*i+100, `"event":"succeeded",%s`, of)
		}
	}
	line(100*indexes, `"event":"condition","condition":"Failed","status":"True","reason":"FailedIndexes"`)
	line(100*indexes, `"event":"ended"`)
	folder := t.TempDir()
	file := filepath.Join(folder, "events")
	if err := os.WriteFile(file, []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(program, "job", "timeline", file, "-o", filepath.Join(folder, "run.html")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	return server.URL + "/run.html"
}

// A page with a timeline is read on a phone: no text is cut, none is tiny, and bars are
// seen, also zoomed. On a wide page too, and axe finds nothing.
func TestTimelineIsReadable(t *testing.T) {
	source := axeSource(t)
	for _, indexes := range []int{20, 400} {
		page := timelinePage(t, indexes)
		for _, screen := range []struct {
			width int64
			dark  bool
		}{{390, true}, {1024, false}, {1920, true}} {
			p := open(t, "", screen.width, screen.dark)
			p.mu.Lock()
			p.loaded = false
			p.mu.Unlock()
			p.do(chromedp.Navigate(page))
			p.await(`document.readyState === 'complete'`)
			state := fmt.Sprintf("%d indexes, %d pixels", indexes, screen.width)
			if wide := eval[int64](p, `document.querySelector('main').scrollWidth`); wide > screen.width {
				t.Errorf("%s: %d wide", state, wide)
			}
			p.keep(fmt.Sprintf("timeline-%d-%d.png", indexes, screen.width), result(p, chromedp.FullScreenshot(100)))
			for _, trouble := range eval[[]string](p, `(() => {
				const svg = [...document.querySelectorAll('main svg')].find(s => s.checkVisibility()), edge = svg.getBoundingClientRect(), wrong = [];
				for (const e of svg.querySelectorAll('text')) {
					const box = e.getBoundingClientRect(), size = parseFloat(getComputedStyle(e).fontSize) * edge.width / svg.viewBox.baseVal.width;
					if (box.left < edge.left - 1 || box.right > edge.right + 1) wrong.push(e.textContent + ' is cut by the picture');
					const clip = e.closest('[clip-path]') && svg.querySelector('clipPath rect').getBBox();
					if (clip && (e.getBBox().x < clip.x - 0.5 || e.getBBox().x + e.getBBox().width > clip.x + clip.width + 0.5)) wrong.push(e.textContent + ' is cut');
					if (size < 8.5) wrong.push(e.textContent + ' is ' + size + ' pixels high');
				}
				for (const by of [1, 4]) {
					if (by > 1) { document.getElementById('in').click(); document.getElementById('in').click(); }
					const bars = [...svg.querySelectorAll('g rect')].filter(e => e.getBBox().x > 0);
					if (by === 1 && bars.length < 20) wrong.push(bars.length + ' bars');
					for (const e of bars) if (e.getBBox().width + (parseFloat(getComputedStyle(e).strokeWidth) || 0) < 3.9) wrong.push('a bar of ' + e.getBBox().width);
					const ticks = [...svg.querySelectorAll('text')].filter(e => /^\d+s$/.test(e.textContent));
					if (by === 1 && !ticks.some(e => e.textContent === '0s' && !e.closest('[clip-path]') && e.checkVisibility({visibilityProperty: true}))) wrong.push('0s is not shown whole');
				}
				document.getElementById('all').click();
				return wrong;
			})()`) {
				t.Errorf("%s: %s", state, trouble)
			}
			eval[bool](p, source+"\n;true")
			p.inspect(state)
		}
	}
}
