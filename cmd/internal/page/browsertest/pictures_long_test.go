//go:build long

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestNothingIsWiderThanThePage takes a picture of every tab, on narrow and wide pages,
// light and dark. With PICTURES=folder it keeps them, to be looked at.
func TestNothingIsWiderThanThePage(t *testing.T) {
	for _, width := range []int64{360, 390, 1024, 1920, 3840} {
		for _, dark := range []bool{false, true} {
			p := open(t, "", width, dark)
			for _, name := range []string{"check", "run", "curves"} {
				p.choose(name)
				if wide := eval[int64](p, `document.documentElement.scrollWidth`); wide > width {
					t.Errorf("%s is %d pixels wide on a page of %d: %v", name, wide, width, p.tooWide(width))
				}
				picture := result(p, chromedp.FullScreenshot(100))
				if len(picture) < 10_000 {
					t.Errorf("%s: a picture of %d bytes", name, len(picture))
				}
				p.keep(fmt.Sprintf("%s-%d-%s.png", name, width, map[bool]string{false: "light", true: "dark"}[dark]), picture)
			}
		}
	}
}

// keep keeps a file in the folder of PICTURES, if there is one.
func (p *tab) keep(name string, content []byte) {
	p.t.Helper()
	if folder := os.Getenv("PICTURES"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}
