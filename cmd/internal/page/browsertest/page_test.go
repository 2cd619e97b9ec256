package browsertest

import (
	"fmt"
	"testing"
)

// The page loads and shows its three tabs, on a phone and on a wide screen. Nothing is
// wider than the page.
func TestPageShowsThreeTabs(t *testing.T) {
	for _, width := range []int64{390, 1600} {
		t.Run(fmt.Sprintf("%d pixels", width), func(t *testing.T) {
			p := open(t, "", width, false)
			if summary := p.texts("#summary"); len(summary) != 1 || summary[0] != "1 object judged: nothing found." {
				t.Errorf("it begins with %q", summary)
			}
			for tab, filled := range map[string]string{"check": ".tried", "run": "#run-picture svg", "curves": "#charts figure:nth-child(2) figcaption"} {
				p.choose(tab)
				for _, other := range []string{"check", "run", "curves"} {
					if shown := len(p.texts("#panel-"+other)) > 0; shown != (other == tab) {
						t.Errorf("%s is chosen, %s is shown: %v", tab, other, shown)
					}
				}
				if len(p.texts(filled)) == 0 {
					t.Errorf("%s shows nothing", tab)
				}
				if wide := eval[int64](p, `document.documentElement.scrollWidth`); wide > width {
					t.Errorf("%s is %d pixels wide: %v", tab, wide, p.tooWide(width))
				}
			}
		})
	}
}
