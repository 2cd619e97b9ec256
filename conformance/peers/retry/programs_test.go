package retry

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// The server fails, then asks for a second's pause, then answers.
func TestRequest(t *testing.T) {
	for name, request := range map[string]func(context.Context, string) ([]byte, error){
		"ours": requestOurs, "cenkalti": requestCenkalti, "avast": requestAvast,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var at []time.Time
			statuses := []int{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusOK}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				at = append(at, time.Now())
				if status := statuses[(len(at)-1)%len(statuses)]; status != http.StatusOK {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(status)
					return
				}
				io.WriteString(w, "hello")
			}))
			defer server.Close()
			body, err := request(t.Context(), server.URL)
			if err != nil || string(body) != "hello" || len(at) != 3 {
				t.Fatalf("%q after %d requests: %v", body, len(at), err)
			}
			if pause := at[2].Sub(at[1]); pause < time.Second {
				t.Errorf("asked again after %v", pause)
			}
			for status, want := range map[int]int{http.StatusNotFound: 1, http.StatusBadGateway: 5} {
				at, statuses = nil, []int{status}
				_, err := request(t.Context(), server.URL)
				if len(at) != want || !strings.Contains(fmt.Sprint(err), http.StatusText(status)) {
					t.Errorf("status %d: %d requests: %v", status, len(at), err)
				}
			}
		})
	}
}

// database is a driver whose connections fail with errs, then succeed.
type database struct {
	errs  []error
	dials int
}

func (d *database) Connect(context.Context) (driver.Conn, error) {
	d.dials++
	if d.dials <= len(d.errs) {
		return nil, d.errs[d.dials-1]
	}
	return connection{}, nil
}

func (d *database) Driver() driver.Driver { return nil }

type connection struct{ driver.Conn }

func (connection) Close() error { return nil }

func TestConnect(t *testing.T) {
	refused := errors.New("connection refused")
	for name, connect := range map[string]func(context.Context, *sql.DB) error{
		"ours": connectOurs, "cenkalti": connectCenkalti, "avast": connectAvast,
	} {
		for _, c := range []struct {
			errs  []error
			dials int
			want  error
		}{
			{[]error{refused, refused, refused}, 4, nil},
			{[]error{refused, errPassword}, 2, errPassword},
			{slices.Repeat([]error{refused}, 12), 10, refused},
		} {
			synctest.Test(t, func(t *testing.T) {
				d := &database{errs: c.errs}
				db := sql.OpenDB(d)
				defer db.Close()
				if err := connect(t.Context(), db); !errors.Is(err, c.want) || d.dials != c.dials {
					t.Errorf("%s: %d connections, want %d: %v", name, d.dials, c.dials, err)
				}
			})
		}
	}
}

func TestPoll(t *testing.T) {
	for name, poll := range map[string]func(context.Context, func(context.Context) (bool, error), time.Duration) error{
		"ours": pollOurs, "cenkalti": pollCenkalti, "avast": pollAvast,
	} {
		for _, c := range []struct {
			done, fails int // the call that finds the work done, or fails; 0 means none
			calls       int
			want        error
		}{
			{done: 4, calls: 4},
			{fails: 3, calls: 3, want: io.ErrUnexpectedEOF},
			{calls: 6, want: context.DeadlineExceeded},
		} {
			synctest.Test(t, func(t *testing.T) {
				calls, start := 0, time.Now()
				err := poll(t.Context(), func(context.Context) (bool, error) {
					if calls++; calls == c.fails {
						return false, io.ErrUnexpectedEOF
					}
					return calls == c.done, nil
				}, 5*initial+1)
				if !errors.Is(err, c.want) || calls != c.calls || time.Since(start) > 5*initial+1 {
					t.Errorf("%s: %d calls, want %d, in %v: %v", name, calls, c.calls, time.Since(start), err)
				}
			})
		}
	}
}

// README.md has the number of lines of each version, without blank ones. No line is wider
// than 120 columns, and ours is at most as long as the shortest.
func TestLinesOfPrograms(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"request", "connect", "poll"} {
		var counts []int
		for _, library := range []string{"ours", "cenkalti", "avast"} {
			text, err := os.ReadFile(program + "_" + library + ".go")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(string(text)) {
				if strings.TrimSpace(line) != "" {
					n++
				}
				if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > 121 {
					t.Errorf("%s_%s.go: wider than 120 columns: %s", program, library, line)
				}
			}
			counts = append(counts, n)
		}
		row := fmt.Sprintf("| `%s` | %d | %d | %d |", program, counts[0], counts[1], counts[2])
		t.Log(row)
		if !strings.Contains(string(page), row) {
			t.Errorf("README.md does not have the row %s", row)
		}
		if counts[0] > min(counts[1], counts[2]) {
			t.Errorf("%s: ours is longer", row)
		}
	}
}
