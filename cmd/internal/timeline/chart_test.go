package timeline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// valid checks the numbered promises of Chart.
func (c *Chart) valid() error {
	attempts, indexes, bars := 0, 0, 0
	for i, r := range c.Rows {
		attempts += r.Attempts
		indexes += r.Indexes
		bars += len(r.Bars) + len(r.Strip)
		if r.Attempts < r.Indexes || r.First > r.Last || r.Bars != nil && r.Strip != nil {
			return fmt.Errorf("row %d: %+v", i, r)
		}
		for _, b := range append(r.Bars, r.Strip...) {
			if b.From < 0 || b.To < b.From || b.To > c.Length || int(b.Outcome) >= OutcomeCount {
				return fmt.Errorf("2: row %d, bar %+v of %v", i, b, c.Length)
			}
			for _, w := range b.Restarts {
				if w.From < b.From || w.To < w.From || w.To > b.To {
					return fmt.Errorf("2: row %d, restart %+v of %+v", i, w, b)
				}
			}
		}
		for _, w := range r.Waits {
			if w.From < 0 || w.To < w.From || w.To > c.Length {
				return fmt.Errorf("2: row %d, wait %+v of %v", i, w, c.Length)
			}
		}
	}
	for _, m := range c.Marks {
		if m.At < 0 || m.At > c.Length {
			return fmt.Errorf("2: mark %+v of %v", m, c.Length)
		}
	}
	all := 0
	for _, n := range c.Outcomes {
		all += n
	}
	if attempts != c.Attempts || bars != all || bars < attempts {
		return fmt.Errorf("1: %d bars, %d outcomes, %d attempts, %d in rows", bars, all, c.Attempts, attempts)
	}
	if len(c.Rows) > MaxRows || indexes != c.Indexes {
		return fmt.Errorf("3: %d rows with %d indexes of %d", len(c.Rows), indexes, c.Indexes)
	}
	return nil
}

// drawn checks a picture of the chart. All shapes lie within the frame, bars
// within the axis, and every attempt is drawn once.
func (c *Chart) drawn(p *picture.Picture) error {
	inside := func(x, y float64) bool {
		return x >= -0.01 && x <= p.Width+0.01 && y >= -0.01 && y <= p.Height+0.01 // false for NaN, too
	}
	d := &drawing{chart: c, p: &picture.Picture{Width: p.Width}}
	d.measure()
	bars := make(map[string]int) // by hover text
	for _, s := range p.Shapes {
		for _, at := range s.Points {
			if !inside(at.X, at.Y) {
				return fmt.Errorf("%+v lies outside of %v x %v", s, p.Width, p.Height)
			}
		}
		if s.Kind == picture.Label {
			from := s.Points[0].X
			width := picture.Width(s.Text, s.Style.Size)
			from -= map[picture.Anchor]float64{picture.Middle: width / 2, picture.End: width}[s.Style.Anchor]
			if from < -0.01 || from+width > p.Width+0.01 {
				return fmt.Errorf("%q reaches from %v to %v of %v", s.Text, from, from+width, p.Width)
			}
		}
		if s.Kind == picture.Rectangle && s.Hover != "" {
			bars[s.Hover]++
			if s.Points[0].X < d.left-0.01 || s.Points[1].X > d.right+0.01 {
				return fmt.Errorf("%+v lies outside of the axis, %v..%v", s, d.left, d.right)
			}
			if s.Points[1].X-s.Points[0].X+s.Style.Width < leastBar-0.01 {
				return fmt.Errorf("%+v is narrower than %d", s, leastBar)
			}
		}
	}
	want := make(map[string]int)
	for i := range c.Rows {
		for j := range c.Rows[i].Bars {
			want[d.hover(&c.Rows[i], &c.Rows[i].Bars[j])]++
		}
	}
	if fmt.Sprint(bars) != fmt.Sprint(want) {
		return fmt.Errorf("bars %v, want %v", bars, want)
	}
	return nil
}

// wellFormed checks an SVG file: it is XML, has no script and no handler, and refers to
// nothing outside.
func wellFormed(svg []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(" svg title desc style pattern path rect text ", " "+e.Name.Local+" ") {
			return fmt.Errorf("element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				return fmt.Errorf("element %s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

// check checks everything that is made of events.
func check(events []Event) error {
	c := Layout(events)
	if err := c.valid(); err != nil {
		return err
	}
	for _, width := range []float64{0, 320, 390, 1600} {
		if err := c.drawn(c.Draw(Options{Width: width})); err != nil {
			return err
		}
	}
	return wellFormed(c.SVG())
}

// anyEvents draws events as no run would write them: in any order, at any time, with
// names that want to be more than text.
func anyEvents() *rapid.Generator[[]Event] {
	names := rapid.SampledFrom([]string{"", "a", "b-1-1", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "]]>&amp;\x00\x1b[2J\u202e", "\xff\xfe", strings.Repeat("long-", 60), "名前"})
	one := rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			Time:      start.Add(time.Duration(rapid.Int64Range(-1e10, 1e11).Draw(t, "time"))),
			Kind:      rapid.SampledFrom([]Kind{Began, Resumed, Created, Created, Started, Started, Restarted, Succeeded, Failed, Failed, Deleted, Terminated, IndexFailed, Condition, Ended, "other"}).Draw(t, "what"),
			Job:       names.Draw(t, "job"),
			Pod:       rapid.OneOf(names, rapid.StringMatching(`p[0-9]`)).Draw(t, "pod"),
			Attempt:   rapid.IntRange(0, 3).Draw(t, "attempt"),
			Condition: rapid.SampledFrom([]string{"Complete", "Failed", "Suspended", "<b>"}).Draw(t, "condition"),
			Status:    rapid.SampledFrom([]string{"", "True", "False"}).Draw(t, "status"),
			Reason:    names.Draw(t, "reason"),
			Message:   names.Draw(t, "message"),
			Container: names.Draw(t, "container"),
			Wait:      Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1e10), rapid.Just(int64(math.MaxInt64))).Draw(t, "wait")),
			Why:       names.Draw(t, "why"),
		}
		if rapid.Bool().Draw(t, "indexed") {
			index := rapid.IntRange(0, 400).Draw(t, "index")
			e.Index = &index
		}
		if rapid.Bool().Draw(t, "exited") {
			code := int32(rapid.IntRange(-1, 255).Draw(t, "code"))
			e.ExitCode = &code
		}
		if rapid.Bool().Draw(t, "decided") {
			counted, rule := rapid.Bool().Draw(t, "counted"), rapid.IntRange(-1, 3).Draw(t, "rule")
			e.Counted, e.Rule = &counted, &rule
		}
		if rapid.IntRange(0, 50).Draw(t, "far") == 0 {
			e.Time = time.Date(rapid.SampledFrom([]int{1678, 2261}).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return e
	})
	return rapid.SliceOfN(one, 0, 300)
}

// For any events the chart is valid, and its picture shows every attempt once, within
// the frame.
func TestAnyEventsAreDrawnWithinTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := check(anyEvents().Draw(t, "events")); err != nil {
			t.Fatal(err)
		}
	})
}

// The same of runs as they are, also of every size in which rows are drawn differently,
// and if they are cut off anywhere.
func TestRunsOfAllSizesAreDrawn(t *testing.T) {
	for _, indexes := range []int{1, 24, 25, 61, 121, 200, 201, 1000} {
		events := sampleRun(indexes, max(3, indexes/20), uint64(indexes))
		for _, n := range []int{len(events), len(events) / 2, 7} {
			if err := check(events[:n]); err != nil {
				t.Errorf("%d events of %d indexes: %v", n, indexes, err)
			}
		}
		c := Layout(events)
		if c.Indexes != indexes || c.Grouped() != (indexes > MaxRows) || c.Outcomes[OutcomeUnfinished] != 0 || c.Result != "Failed (FailedIndexes)" && indexes >= 50 {
			t.Errorf("%d indexes: %d, grouped %v, %v, %s", indexes, c.Indexes, c.Grouped(), c.Outcomes, c.Result)
		}
	}
}

// Above MaxRows, indexes that failed for good stand above those whose last attempt failed,
// and these above the others, in rows of their own as far as there is room. Among each,
// those with more attempts stand higher, also in groups.
func TestFailedIndexesComeFirst(t *testing.T) {
	for _, indexes := range []int{201, 3000} {
		for _, part := range []int{1, 2} { // the whole run, and half of it
			events := sampleRun(indexes, 100, 3)
			failed := make(map[int]bool) // the rule, read from the events
			last := make(map[int]bool)
			for i, e := range events[:len(events)/part] {
				switch {
				case e.Kind == IndexFailed:
					failed[*e.Index] = true
				case e.Kind == Failed:
					last[*e.Index] = true
				case e.Kind == Succeeded, e.Kind == Created:
					last[*e.Index] = false
				}
				events[i] = e
			}
			c := Layout(events[:len(events)/part])
			if !c.Grouped() {
				continue // they stand in the order of their indexes
			}
			rank := func(r Row) (worst, best int) {
				worst, best = 2, 0
				for _, index := range members(r) {
					is := 2
					if failed[index] {
						is = 0
					} else if last[index] {
						is = 1
					}
					worst, best = min(worst, is), max(best, is)
				}
				return worst, best
			}
			own, forGood := 0, 0
			for i, r := range c.Rows {
				worst, best := rank(r)
				if worst != best {
					t.Errorf("%d indexes: row %d mixes fates", indexes, i)
				}
				if r.Indexes == 1 && i == own {
					own++
					if worst == 0 {
						forGood++
					}
				}
				if r.Failed != (best < 2) {
					t.Errorf("%d indexes: row %d is failed: %v", indexes, i, r.Failed)
				}
				if i == 0 {
					continue
				}
				before := c.Rows[i-1]
				if above, _ := rank(before); worst < above || worst == above && r.Attempts*before.Indexes > before.Attempts*r.Indexes {
					t.Errorf("%d indexes: row %d, of %d, stands below one of %d", indexes, i, worst, above)
				}
			}
			if own < leastOwn || own > mostOwn || forGood != min(len(failed), mostOwn) {
				t.Errorf("%d indexes: %d rows of their own, of which %d failed, of %d", indexes, own, forGood, len(failed))
			}
		}
	}
}

// members returns the indexes of a row.
func members(r Row) []int {
	seen := make(map[int]bool)
	for _, b := range slices.Concat(r.Bars, r.Strip) {
		index, err := strconv.Atoi(strings.Split(b.Pod, "-")[1]) // sample-INDEX-ATTEMPT
		if err != nil {
			panic(err)
		}
		seen[index] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// Very many indexes make a picture that a browser shows, and so does one index with very
// many attempts, or very many restarts. Above these numbers, pictures do not grow.
func TestLargeRunsMakeSmallPictures(t *testing.T) {
	index, many := 0, []Event{{Time: start, Kind: Began, Job: "many"}}
	for i := range 8000 {
		at := start.Add(time.Duration(i) * time.Second)
		pod := fmt.Sprint("many-0-", i)
		many = append(many, Event{Time: at, Kind: Created, Pod: pod, Index: &index, Attempt: i}, Event{Time: at, Kind: Started, Pod: pod, Index: &index, Attempt: i},
			Event{Time: at.Add(400 * time.Millisecond), Kind: Failed, Pod: pod, Index: &index, Attempt: i, Wait: Duration(time.Second / 4)})
	}
	restarts := []Event{{Time: start, Kind: Created, Pod: "p"}, {Time: start, Kind: Started, Pod: "p"}}
	for i := range 20_000 {
		restarts = append(restarts, Event{Time: start.Add(time.Duration(i+1) * time.Second), Kind: Restarted, Pod: "p", Wait: Duration(time.Second / 2)})
	}
	for name, events := range map[string][]Event{"3,000 indexes": sampleRun(3000, 150, 1), "8,000 attempts": many, "20,000 restarts": restarts} {
		c := Layout(events)
		if err := c.valid(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		const most = 3_000_000
		if svg, html := len(c.SVG()), len(c.HTML()); svg > most || html > most {
			t.Errorf("%s: %d and %d bytes", name, svg, html)
		} else {
			t.Logf("%s: SVG %d bytes, HTML %d bytes", name, svg, html)
		}
	}
}
