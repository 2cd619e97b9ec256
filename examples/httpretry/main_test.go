package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/backoff"
)

// now is when a bubble of synctest begins.
var now = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

func TestRetryAfterHeader(t *testing.T) {
	inTenMinutes := now.Add(10 * time.Minute)
	for value, want := range map[string]time.Duration{
		"":                                      0,
		"0":                                     0,
		"120":                                   2 * time.Minute,
		"4294967295":                            4294967295 * time.Second,
		inTenMinutes.Format(http.TimeFormat):    10 * time.Minute,
		inTenMinutes.Format(time.ANSIC):         10 * time.Minute,
		"Friday, 31-Dec-99 23:59:59 GMT":        0,
		"Tue, 15 Nov 1994 08:12:31 GMT":         0,
		now.Format(http.TimeFormat):             0,
		"-1":                                    0,
		"+1":                                    0,
		"1.5":                                   0,
		"1s":                                    0,
		"99999999999999999999":                  0,
		"soon":                                  0,
		"Sat, 01 Jan 2000 00:10:00 +0900":       0,
		"Sat, 41 Jan 2000 00:10:00 GMT":         0,
		inTenMinutes.Format(time.RFC3339):       0,
		inTenMinutes.Format(time.RFC850) + "\n": 0,
	} {
		header := http.Header{"Retry-After": {value}}
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// scripted is a server that gives one answer after the other, and notes when it is asked.
type scripted struct {
	answers []scriptedAnswer
	start   time.Time
	asked   []time.Duration
}

type scriptedAnswer struct {
	status     int // 0 means that the connection fails
	retryAfter string
}

func (s *scripted) RoundTrip(request *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Since(s.start))
	next := s.answers[0]
	s.answers = s.answers[1:]
	if next.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	header := http.Header{}
	if next.retryAfter != "" {
		header.Set("Retry-After", next.retryAfter)
	}
	return answer(request, next.status, header, "hello"), nil
}

func TestGet(t *testing.T) {
	const ms = time.Millisecond
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, test := range map[string]struct {
		answers   []scriptedAnswer
		asked     []time.Duration
		wantError string // empty means success
	}{
		"at once":               {[]scriptedAnswer{{200, ""}}, []time.Duration{0}, ""},
		"429, seconds":          {[]scriptedAnswer{{429, "3"}, {200, ""}}, []time.Duration{0, 3 * time.Second}, ""},
		"429, date":             {[]scriptedAnswer{{429, in(5 * time.Second)}, {200, ""}}, []time.Duration{0, 5 * time.Second}, ""},
		"503, seconds":          {[]scriptedAnswer{{503, "3"}, {200, ""}}, []time.Duration{0, 3 * time.Second}, ""},
		"503, date":             {[]scriptedAnswer{{503, in(5 * time.Second)}, {200, ""}}, []time.Duration{0, 5 * time.Second}, ""},
		"503, past date":        {[]scriptedAnswer{{503, in(-time.Hour)}, {200, ""}}, []time.Duration{0, 100 * ms}, ""},
		"503, garbage":          {[]scriptedAnswer{{503, "soon"}, {200, ""}}, []time.Duration{0, 100 * ms}, ""},
		"503, sooner than ours": {[]scriptedAnswer{{503, "0"}, {200, ""}}, []time.Duration{0, 100 * ms}, ""},
		"503, tomorrow":         {[]scriptedAnswer{{503, in(24 * time.Hour)}, {200, ""}}, []time.Duration{0, time.Minute}, ""},
		"no connection":         {[]scriptedAnswer{{0, ""}, {200, ""}}, []time.Duration{0, 100 * ms}, ""},
		"500, then 408":         {[]scriptedAnswer{{500, ""}, {408, ""}, {200, ""}}, []time.Duration{0, 100 * ms, 300 * ms}, ""},
		"404":                   {[]scriptedAnswer{{404, ""}}, []time.Duration{0}, "permanent error after 1 attempt: 404 Not Found"},
		"501, though it asks":   {[]scriptedAnswer{{501, "3"}}, []time.Duration{0}, "permanent error after 1 attempt: 501 Not Implemented"},
		"busy for long": {slices.Repeat([]scriptedAnswer{{503, ""}}, 5), []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms},
			"gave up after 5 attempts, the limit: 503 Service Unavailable"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &scripted{answers: test.answers, start: time.Now()}
			text, err := get(t.Context(), &http.Client{Transport: server}, "http://example.com/")
			if !slices.Equal(server.asked, test.asked) {
				t.Errorf("%s: asked at %v, want %v", name, server.asked, test.asked)
			}
			switch {
			case test.wantError == "":
				if text != "hello" || err != nil {
					t.Errorf("%s: %q, %v", name, text, err)
				}
			case text != "" || err == nil || err.Error() != test.wantError:
				t.Errorf("%s: %q, %v", name, text, err)
			}
		})
	}
}

func TestGetRefusesABadURL(t *testing.T) {
	_, err := get(t.Context(), http.DefaultClient, "http://[")
	var gaveUp *backoff.RetryError
	if !errors.As(err, &gaveUp) || !gaveUp.Permanent {
		t.Error(err)
	}
}

// The program prints the output in its comment.
func TestProgram(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(string(source), "\r\n", "\n")) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			want.WriteString(text)
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	stdout := os.Stdout
	os.Stdout = write
	synctest.Test(t, func(*testing.T) { main() })
	os.Stdout = stdout
	write.Close()
	got, err := io.ReadAll(read)
	if err != nil || string(got) != want.String() {
		t.Errorf("%s, %v, want\n%s", got, err, want.String())
	}
}
