package indexset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/indexset"
	"pgregory.net/rapid"
)

var digits2MiB = strings.Repeat("9", 2<<20)

// rejected has a row for each kind of invalid text, with the offset of the bad item,
// the reason, and the result of ParseLenient.
var rejected = []struct {
	text    string
	offset  int
	item    string
	reason  string
	lenient string
	report  indexset.Report // without First
	quiet   bool            // the lenient reading has nothing to say
}{
	{text: ",", offset: 0, item: "", reason: indexset.ReasonEmpty, report: indexset.Report{Skipped: 2}},
	{text: "1,", offset: 2, item: "", reason: indexset.ReasonEmpty, lenient: "1", report: indexset.Report{Skipped: 1}},
	{text: ",1", offset: 0, item: "", reason: indexset.ReasonEmpty, lenient: "1", report: indexset.Report{Skipped: 1}},
	{text: "1,,2", offset: 2, item: "", reason: indexset.ReasonEmpty, lenient: "1,2", report: indexset.Report{Skipped: 1}},
	{text: " 1", offset: 0, item: " 1", reason: `' ' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1 ", offset: 0, item: "1 ", reason: `' ' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1, 2", offset: 2, item: " 2", reason: `' ' is not a digit`, lenient: "1", report: indexset.Report{Skipped: 1}},
	{text: "1 -3", offset: 0, item: "1 -3", reason: `' ' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1- 3", offset: 0, item: "1- 3", reason: `' ' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "0,1\n", offset: 2, item: "1\n", reason: `'\n' is not a digit`, lenient: "0", report: indexset.Report{Skipped: 1}},
	{text: "\t", offset: 0, item: "\t", reason: `'\t' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "+1", offset: 0, item: "+1", reason: `'+' is not a digit`, lenient: "1", quiet: true},
	{text: "1-+3", offset: 0, item: "1-+3", reason: `'+' is not a digit`, lenient: "1-3", quiet: true},
	{text: "+", offset: 0, item: "+", reason: `'+' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "++1", offset: 0, item: "++1", reason: `'+' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "0x10", offset: 0, item: "0x10", reason: `'x' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1_0", offset: 0, item: "1_0", reason: `'_' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1e1", offset: 0, item: "1e1", reason: `'e' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1.0", offset: 0, item: "1.0", reason: `'.' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "a", offset: 0, item: "a", reason: `'a' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "2,١", offset: 2, item: "١", reason: `'١' is not a digit`, lenient: "2", report: indexset.Report{Skipped: 1}},
	{text: "１", offset: 0, item: "１", reason: `'１' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1\xff", offset: 0, item: "1\xff", reason: `'�' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1;2", offset: 0, item: "1;2", reason: `';' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1:3", offset: 0, item: "1:3", reason: `':' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1/3", offset: 0, item: "1/3", reason: `'/' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1–3", offset: 0, item: "1–3", reason: `'–' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "1\x00", offset: 0, item: "1\x00", reason: `'\x00' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "007", offset: 0, item: "007", reason: indexset.ReasonZeros, lenient: "7", quiet: true},
	{text: "00", offset: 0, item: "00", reason: indexset.ReasonZeros, lenient: "0", quiet: true},
	{text: "0-01", offset: 0, item: "0-01", reason: indexset.ReasonZeros, lenient: "0,1", quiet: true},
	{text: "5-3", offset: 0, item: "5-3", reason: indexset.ReasonReverse, report: indexset.Report{Skipped: 1}},
	{text: "0,17-9", offset: 2, item: "17-9", reason: indexset.ReasonReverse, lenient: "0", report: indexset.Report{Skipped: 1}},
	{text: "3-3", offset: 0, item: "3-3", reason: indexset.ReasonOne, lenient: "3", quiet: true},
	{text: "0-0", offset: 0, item: "0-0", reason: indexset.ReasonOne, lenient: "0", quiet: true},
	{text: "1-2-3", offset: 0, item: "1-2-3", reason: indexset.ReasonParts, lenient: "1,2"},
	{text: "1-2-", offset: 0, item: "1-2-", reason: indexset.ReasonParts, lenient: "1,2"},
	{text: "4,7-9-x,12", offset: 2, item: "7-9-x", reason: indexset.ReasonParts, lenient: "4,7-9,12"},
	{text: "-1", offset: 0, item: "-1", reason: indexset.ReasonNoFirst, report: indexset.Report{Skipped: 1}},
	{text: "-", offset: 0, item: "-", reason: indexset.ReasonNoFirst, report: indexset.Report{Skipped: 1}},
	{text: "1-", offset: 0, item: "1-", reason: indexset.ReasonNoLast, report: indexset.Report{Skipped: 1}},
	{text: "1--3", offset: 0, item: "1--3", reason: indexset.ReasonParts, report: indexset.Report{Skipped: 1}},
	{text: "0,1--3", offset: 2, item: "1--3", reason: indexset.ReasonParts, lenient: "0", report: indexset.Report{Skipped: 1}},
	{text: "3,1", offset: 2, item: "1", reason: indexset.ReasonOrder, lenient: "1,3", report: indexset.Report{Reordered: 1}},
	{text: "7,3,8,1", offset: 2, item: "3", reason: indexset.ReasonOrder, lenient: "1,3,7,8", report: indexset.Report{Reordered: 2}},
	{text: "1,1", offset: 2, item: "1", reason: indexset.ReasonOrder, lenient: "1", report: indexset.Report{Reordered: 1}},
	{text: "0,0", offset: 2, item: "0", reason: indexset.ReasonOrder, lenient: "0", report: indexset.Report{Reordered: 1}},
	{text: "1-3,3-6", offset: 4, item: "3-6", reason: indexset.ReasonOrder, lenient: "1-6", report: indexset.Report{Reordered: 1}},
	{text: "1-5,2-3", offset: 4, item: "2-3", reason: indexset.ReasonOrder, lenient: "1-5", report: indexset.Report{Reordered: 1}},
	{text: "1-5,2,6", offset: 4, item: "2", reason: indexset.ReasonOrder, lenient: "1-6", report: indexset.Report{Reordered: 1}},
	{text: "1-5,6-2", offset: 4, item: "6-2", reason: indexset.ReasonReverse, lenient: "1-5", report: indexset.Report{Skipped: 1}},
	{text: "100,102,104,103,105", offset: 12, item: "103", reason: indexset.ReasonOrder, lenient: "100,102-105", report: indexset.Report{Reordered: 1}},
	{text: "100,102,104,104,105", offset: 12, item: "104", reason: indexset.ReasonOrder, lenient: "100,102,104,105", report: indexset.Report{Reordered: 1}},
	{text: "1000-1009,2000-2009,1500-1509,3000", offset: 20, item: "1500-1509", reason: indexset.ReasonOrder, lenient: "1000-1009,1500-1509,2000-2009,3000", report: indexset.Report{Reordered: 1}},
	{text: "1000-1009,2000-2009,2009-2019,3000", offset: 20, item: "2009-2019", reason: indexset.ReasonOrder, lenient: "1000-1009,2000-2019,3000", report: indexset.Report{Reordered: 1}},
	{text: "1000-1009,2000-2009,2400-2399,3000", offset: 20, item: "2400-2399", reason: indexset.ReasonReverse, lenient: "1000-1009,2000-2009,3000", report: indexset.Report{Skipped: 1}},
	{text: "1000-1009,2000-2009,2400-2400,3000", offset: 20, item: "2400-2400", reason: indexset.ReasonOne, lenient: "1000-1009,2000-2009,2400,3000", quiet: true},
	{text: "10,12,14,16,70,80,60", offset: 18, item: "60", reason: indexset.ReasonOrder, lenient: "10,12,14,16,60,70,80", report: indexset.Report{Reordered: 1}},
	{text: "100,102,104,130,140,195,200,120", offset: 28, item: "120", reason: indexset.ReasonOrder, lenient: "100,102,104,120,130,140,195,200", report: indexset.Report{Reordered: 1}},
	{text: "1234567890x", offset: 0, item: "1234567890x", reason: `'x' is not a digit`, report: indexset.Report{Skipped: 1}},
	{text: "100,102,1:4,206", offset: 8, item: "1:4", reason: `':' is not a digit`, lenient: "100,102,206", report: indexset.Report{Skipped: 1}},
	{text: "100,102,104,106,1:8,300", offset: 16, item: "1:8", reason: `':' is not a digit`, lenient: "100,102,104,106,300", report: indexset.Report{Skipped: 1}},
	{text: "100,102,10:,106", offset: 8, item: "10:", reason: `':' is not a digit`, lenient: "100,102,106", report: indexset.Report{Skipped: 1}},
	{text: "100,20:,300", offset: 4, item: "20:", reason: `':' is not a digit`, lenient: "100,300", report: indexset.Report{Skipped: 1}},
	{text: "100-105,2:0-300,400", offset: 8, item: "2:0-300", reason: `':' is not a digit`, lenient: "100-105,400", report: indexset.Report{Skipped: 1}},
	{text: "100-105,200-30:,400", offset: 8, item: "200-30:", reason: `':' is not a digit`, lenient: "100-105,400", report: indexset.Report{Skipped: 1}},
	{text: "123456789,1x3456799,2x3456799", offset: 10, item: "1x3456799", reason: `'x' is not a digit`, lenient: "123456789", report: indexset.Report{Skipped: 2}},
	{text: "123456000-123456789,123456800-12x456810,3", offset: 20, item: "123456800-12x456810", reason: `'x' is not a digit`, lenient: "3,123456000-123456789", report: indexset.Report{Skipped: 1, Reordered: 1}},
	{text: "2147483600-2147483610,2147483640-2147483648,x", offset: 22, item: "2147483640-2147483648", reason: indexset.ReasonLarge, lenient: "2147483600-2147483610", report: indexset.Report{Skipped: 2}},
	{text: "2147483600-2147483610,2147483650-2147483660,x", offset: 22, item: "2147483650-2147483660", reason: indexset.ReasonLarge, lenient: "2147483600-2147483610", report: indexset.Report{Skipped: 2}},
	{text: "2147481652-2147481654,0147481656-2147481658,2147481660", offset: 22, item: "0147481656-2147481658", reason: indexset.ReasonZeros, lenient: "147481656-2147481658,2147481660", report: indexset.Report{Reordered: 1}},
	{text: "10,12,70-80,60", offset: 12, item: "60", reason: indexset.ReasonOrder, lenient: "10,12,60,70-80", report: indexset.Report{Reordered: 1}},
	{text: "100,102,104,0106,108", offset: 12, item: "0106", reason: indexset.ReasonZeros, lenient: "100,102,104,106,108", quiet: true},
	{text: "100,102,104,006,108", offset: 12, item: "006", reason: indexset.ReasonZeros, lenient: "6,100,102,104,108", report: indexset.Report{Reordered: 1}},
	{text: "1000000000,1000000002,9999990000,2000000000", offset: 22, item: "9999990000", reason: indexset.ReasonLarge, lenient: "1000000000,1000000002,2000000000", report: indexset.Report{Skipped: 1}},
	{text: "1000000000,1000000002,10000x0004,2000000000", offset: 22, item: "10000x0004", reason: `'x' is not a digit`, lenient: "1000000000,1000000002,2000000000", report: indexset.Report{Skipped: 1}},
	{text: "2147483648", offset: 0, item: "2147483648", reason: indexset.ReasonLarge, report: indexset.Report{Skipped: 1}},
	{text: "0-2147483648", offset: 0, item: "0-2147483648", reason: indexset.ReasonLarge, report: indexset.Report{Skipped: 1}},
	{text: "1,4294967298", offset: 2, item: "4294967298", reason: indexset.ReasonLarge, lenient: "1", report: indexset.Report{Skipped: 1}},
	{text: "1,18446744073709551618", offset: 2, item: "18446744073709551618", reason: indexset.ReasonLarge, lenient: "1", report: indexset.Report{Skipped: 1}},
	{text: "0," + digits2MiB, offset: 2, item: digits2MiB[:48], reason: indexset.ReasonLarge, lenient: "0", report: indexset.Report{Skipped: 1}},
}

func TestBadTextIsRejected(t *testing.T) {
	for _, c := range rejected {
		name := c.text[:min(len(c.text), 40)]
		s, err := indexset.Parse(c.text)
		var e indexset.ParseError
		if !errors.As(err, &e) || !s.IsZero() {
			t.Errorf("Parse(%q) = %q, %v", name, s, err)
			continue
		}
		if e.Offset != c.offset || e.Text != c.item || e.Reason != c.reason {
			t.Errorf("Parse(%q): %v\nwant %q at %d: %s", name, e, c.item, c.offset, c.reason)
		}
		if !strings.HasPrefix(c.text[e.Offset:], e.Text) {
			t.Errorf("Parse(%q): %q is not at %d", name, e.Text, e.Offset)
		}
		s, report := indexset.ParseLenient(c.text)
		first := report.First
		report.First = nil
		if s.String() != c.lenient || report != c.report {
			t.Errorf("ParseLenient(%q) = %q, %+v, want %q, %+v", name, s, report, c.lenient, c.report)
		}
		if c.quiet != (first == nil) {
			t.Errorf("ParseLenient(%q): first problem: %v", name, first)
		}
	}
}

// Report.First has the reason why an item was skipped.
func TestReportGivesReasons(t *testing.T) {
	for text, want := range map[string]indexset.ParseError{
		"1,,2":            {Offset: 2, Reason: indexset.ReasonEmpty},
		"1,-2":            {Offset: 2, Text: "-2", Reason: indexset.ReasonNoFirst},
		"1,2-":            {Offset: 2, Text: "2-", Reason: indexset.ReasonNoLast},
		"1,5-3":           {Offset: 2, Text: "5-3", Reason: indexset.ReasonReverse},
		"1,+x":            {Offset: 2, Text: "+x", Reason: "'+' is not a digit"},
		"1,2-+2147483648": {Offset: 2, Text: "2-+2147483648", Reason: indexset.ReasonLarge},
	} {
		if _, report := indexset.ParseLenient(text); report.First == nil || *report.First != want {
			t.Errorf("ParseLenient(%q): %v, want %v", text, report.First, want)
		}
	}
}

func TestParseErrorNamesItemAndReason(t *testing.T) {
	for text, want := range map[string]string{
		"5-3":         `indexset: parse "5-3" at byte 0: range ends before it starts`,
		"0,1-3, 5":    `indexset: parse " 5" at byte 6: ' ' is not a digit`,
		digits2MiB:    `indexset: parse "` + digits2MiB[:48] + `"... at byte 0: number above 2147483647`,
		"1,2,3-9,9":   `indexset: parse "9" at byte 8: does not come after all items before it`,
		"12,,14":      `indexset: parse "" at byte 3: item is empty`,
		"4,8-80-800 ": `indexset: parse "8-80-800 " at byte 2: more than one '-'`,
	} {
		if _, err := indexset.Parse(text); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestGoodTextIsAccepted(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0": "0", "0-1": "0,1", "0,1,2": "0-2", "1-3,4": "1-4", "1-3,4-6": "1-6", "0-1,2-3,5": "0-3,5",
		"2147483647": "2147483647", "0-2147483647": "0-2147483647", "2147483646,2147483647": "2147483646,2147483647",
		"9,10,99,100,101,1000000":                           "9,10,99-101,1000000",
		"123456000-123456789,223456800-223456900,323456789": "123456000-123456789,223456800-223456900,323456789",
		"123456000-123456789,123456800-223456900,323456789": "123456000-123456789,123456800-223456900,323456789",
	} {
		s, err := indexset.Parse(text)
		if err != nil || s.String() != want || s.Valid() != nil {
			t.Errorf("Parse(%q) = %q, %v, want %q", text, s, err, want)
		}
	}
}

// Reading text of any kind leaves a set of at most eight times its size.
func TestParsedSetIsBounded(t *testing.T) {
	for _, c := range longTexts(64 << 10) {
		s, err := indexset.Parse(c.text)
		if (err == nil) != c.ok || s.HeldBytes() > 8*len(c.text) {
			t.Errorf("%s: %v, %d bytes for %d", c.name, err, s.HeldBytes(), len(c.text))
		}
		s, report := indexset.ParseLenient(c.text)
		if (report.First == nil) != c.ok || s.HeldBytes() > 8*len(c.text) {
			t.Errorf("%s, lenient: %+v, %d bytes for %d", c.name, report, s.HeldBytes(), len(c.text))
		}
	}
}

type longText struct {
	name, text string
	ok         bool
}

// longTexts returns texts of about size bytes that are expensive to read in some way.
func longTexts(size int) []longText {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	evens := indexset.Fragmented(size * 3 / 10).String()
	var descending strings.Builder
	for i := size / 5; descending.Len() < size; i-- {
		descending.WriteString(indexset.Of(i).String())
		descending.WriteByte(',')
	}
	return []longText{
		{"commas", repeat(","), false},
		{"digits", repeat("9"), false},
		{"whole range again and again", repeat("0-2147483647,"), false},
		{"zeros", repeat("0,"), false},
		{"letters", repeat("a,"), false},
		{"alternating numbers", evens, true},
		{"alternating numbers, then a letter", evens + ",x", false},
		{"alternating numbers, then the last index", evens + ",2147483647", true},
		{"descending", descending.String(), false},
		{"commas, then an index that asks for a bitmap", repeat(",") + fmt.Sprint(63*size), false},
	}
}

// checkParse checks the properties of Parse and ParseLenient for any text.
func checkParse(t tester, text string) {
	t.Helper()
	s, err := indexset.Parse(text)
	if spans, ok := strictByRule(text); ok != (err == nil) || format(canonical(spans)) != s.String() {
		t.Fatalf("%q reads %q, %v, by the rules %v, %v", text, s, err, spans, ok)
	}
	lenient, report := indexset.ParseLenient(text)
	if spans, skipped, reordered := lenientByRule(text); format(canonical(spans)) != lenient.String() || skipped != report.Skipped || reordered != report.Reordered {
		t.Fatalf("%q reads %q, %+v, by the rules %v, %d skipped, %d reordered", text, lenient, report, spans, skipped, reordered)
	}
	for _, set := range []indexset.Set{s, lenient} {
		if err := set.Valid(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		printed := set.String()
		again, err := indexset.Parse(printed)
		if err != nil || !again.Equal(set) || again.String() != printed {
			t.Fatalf("%q prints %q, which reads %q, %v", text, printed, again, err)
		}
		if len(printed) > len(text) {
			t.Fatalf("%q prints %q, which is longer", text, printed)
		}
	}
	var e indexset.ParseError
	switch {
	case err == nil && (!lenient.Equal(s) || report != indexset.Report{}):
		t.Fatalf("%q reads %q, leniently %q with %+v", text, s, lenient, report)
	case err != nil && (!s.IsZero() || !errors.As(err, &e) || !strings.HasPrefix(text[e.Offset:], e.Text)):
		t.Fatalf("%q reads %q with %v", text, s, err)
	case report.Skipped+report.Reordered > 0 && (report.First == nil || err == nil):
		t.Fatalf("%q: %+v without a first problem, or Parse has none: %v", text, report, err)
	}
}

func TestAnyTextIsReadByTheRules(t *testing.T) {
	pieces := []string{",", ",", "-", "0", "1", "2", "7", "9", "10", "63", "64", "99", "100", "2147483647", "2147483648", " ", "+", "x", "00"}
	rapid.Check(t, func(t *rapid.T) {
		checkParse(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), ""))
	})
}

// TestDamagedTextIsReadByTheRules changes a few bytes of valid text, so that reading
// fails at every possible place.
func TestDamagedTextIsReadByTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]int{0, 5, 95, 990, 9990, 99990, 999990, 9999990, 99999990, 1999999990, indexset.MaxIndex - 2000}).Draw(t, "start")
		gaps := rapid.SampledFrom([][]int{{1, 2, 2, 3, 10, 100}, {2, 3000, 4000000}}).Draw(t, "gaps")
		var b indexset.Builder
		i := start
		for range rapid.IntRange(1, 40).Draw(t, "runs") {
			i += min(rapid.SampledFrom(gaps).Draw(t, "gap"), indexset.MaxIndex-i)
			length := rapid.SampledFrom([]int{1, 1, 1, 2, 3, 90}).Draw(t, "length")
			b.AddRange(i, i+min(length-1, indexset.MaxIndex-i))
			i += min(length, indexset.MaxIndex-i)
			i = min(i, indexset.MaxIndex-100)
		}
		text := []byte(b.Set().String())
		checkParse(t, string(text))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			with := rapid.SampledFrom([]string{"", "0", "1", "5", "9", ",", "-", ",0", "-9", "x", "/", ":", "\x00", "\xff"}).Draw(t, "with")
			text = slices.Replace(text, at, min(at+rapid.IntRange(0, 2).Draw(t, "drop"), len(text)), []byte(with)...)
		}
		checkParse(t, string(text))
	})
}

func FuzzParse(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, text string) { checkParse(t, text) })
}

// addTexts adds good and bad texts to those that a fuzz test begins with.
func addTexts(f *testing.F) {
	for _, c := range rejected {
		if len(c.text) < 100 {
			f.Add(c.text)
		}
	}
	f.Add("1,3-5,7")
	f.Add("0-2147483647")
	f.Add(indexset.Fragmented(200).String())
	f.Add(indexset.FromRange(0, 298).Minus(indexset.Fragmented(300)).String())
	f.Add("0-89,100-189,200-289,1000-1089,1100-1189,1200-1289,1301,99999-100001,1000000-1000007,1000100-1000200")
	f.Add("8,9,10,11,98,99,100,102,104,998,1000,9998,10000,10002,99998,100000,9999998,10000000,10000002,2147483646")
	f.Add("123456789-123456999,1234567890-1234567899,2147483640-2147483647")
	f.Add("99999000-99999100,99999900-99999999,100000000-100000009,109999990-110000009,110000100-110000200")
}

// A changed character is noticed at every position, in numbers of every width.
func TestParseReadsEveryCharacter(t *testing.T) {
	for width, start := 1, uint32(1); width <= 10; width, start = width+1, start*10 {
		for _, text := range []string{
			fmt.Sprintf("%d-%d,%d-%d,%d-%d,%d", start, start+1, start+3, start+4, start+6, start+7, start+8),
			fmt.Sprintf("%d,%d,%d,%d,%d,%d", start, start+2, start+4, start+5, start+7, start+8),
			// After a large last number the changed one may still be in order.
			fmt.Sprintf("%d,%d,%d,%d,%d,%d", start, start+2, start+4, start+5, start+7, min(5*uint64(start), indexset.MaxIndex)),
			fmt.Sprintf("%d-%d,%d-%d,%d-%d,%d", start, start+1, start+3, start+4, start+6, start+7, min(5*uint64(start), indexset.MaxIndex)),
		} {
			for at := range text {
				for _, c := range []byte("0123456789,-:/ \x00\xff") {
					changed := text[:at] + string([]byte{c}) + text[at+1:]
					checkParse(t, changed)
				}
			}
		}
	}
}
