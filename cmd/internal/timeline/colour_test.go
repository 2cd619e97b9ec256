package timeline

import (
	"testing"

	"github.com/restartkit/restart/cmd/internal/picture/vision"
)

// All readers can tell outcomes apart. Outcomes with equal or similar colours differ in
// pattern and outline, and so do any two for readers who see no colours.
func TestOutcomesAreToldApartByAll(t *testing.T) {
	const enough = 10 // of CIELAB's distance; 2.3 is just noticeable
	checked := 0
	for name, seen := range vision.Visions {
		for a := range outcomeStyles {
			for b := range a {
				p, q := outcomeStyles[a], outcomeStyles[b]
				distance := min(vision.Distance(p.Fill, q.Fill, false, seen), vision.Distance(p.Fill, q.Fill, true, seen))
				alike := p.Pattern == q.Pattern && p.Stroke == q.Stroke
				if alike || distance < enough && name != "achromatopsia" && p.Fill != q.Fill {
					t.Errorf("%s: %v and %v are %.1f apart, patterns %d and %d", name, Outcome(a), Outcome(b), distance, p.Pattern, q.Pattern)
				}
				checked++
			}
		}
	}
	if want := len(vision.Visions) * OutcomeCount * (OutcomeCount - 1) / 2; checked != want {
		t.Errorf("%d pairs", checked)
	}
}
