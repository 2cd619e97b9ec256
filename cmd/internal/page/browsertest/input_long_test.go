//go:build long

package browsertest

import "github.com/chromedp/chromedp"

// result returns the value of an action.
func result[T any](p *tab, action chromedp.Action[T]) T {
	p.t.Helper()
	value, err := chromedp.Run(p, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// enter writes a text into a field as pasting does, and waits until the page shows what
// comes of it.
func (p *tab) enter(id, text string) {
	p.t.Helper()
	eval[bool](p, `(() => { const f = document.getElementById($); f.value = $; f.dispatchEvent(new Event('input', {bubbles: true})); show(); return true; })()`, id, text)
	p.settle()
}

// click presses the mouse on an element, and waits until the page shows what comes of it:
// a step's button is disabled until then.
func (p *tab) click(id string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS("#" + id)))
	p.settle()
}
