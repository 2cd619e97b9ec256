package retrymark_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/retrymark"
)

// nilPath is an error whose methods panic.
var nilPath = error((*fs.PathError)(nil))

func permanent(err error) error { return &retrymark.Permanent{Err: err} }

// Marks are found in every branch of an error, except below a Past. Of several delays the
// longest counts.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		err       error
		permanent bool
		after     time.Duration
	}{
		{nil, false, 0},
		{io.EOF, false, 0},
		{fmt.Errorf("disk: %w", permanent(io.EOF)), true, 0},
		{errors.Join(io.EOF, retrymark.After(time.Second), fmt.Errorf("busy: %w", retrymark.After(time.Minute))), false, time.Minute},
		{errors.Join(retrymark.After(time.Second), permanent(retrymark.After(time.Hour))), true, time.Hour},
		{errors.Join(&retrymark.Past{Err: permanent(retrymark.After(time.Hour))}, retrymark.After(time.Second)), false, time.Second},
		{retrymark.After(-time.Second), false, 0},
		{nilPath, false, 0},
		{(*retrymark.Permanent)(nil), false, 0},
		{errors.Join(fmt.Errorf("%w", nilPath), permanent(io.EOF)), true, 0},
	} {
		if permanent, after := retrymark.Of(c.err); permanent != c.permanent || after != c.after {
			t.Errorf("Of(%v) = %v, %v, want %v, %v", c.err, permanent, after, c.permanent, c.after)
		}
	}
}

// lost is an error whose method Is says what it stands for.
type lost struct{}

func (lost) Error() string        { return "lost" }
func (lost) Is(target error) bool { return target == io.EOF }

// IsAny agrees with errors.Is, where that does not panic.
func TestIsAny(t *testing.T) {
	for _, err := range []error{
		nil,
		io.EOF,
		lost{},
		context.Canceled,
		fmt.Errorf("read: %w", io.EOF),
		errors.Join(io.ErrClosedPipe, fmt.Errorf("read: %w", context.DeadlineExceeded)),
		permanent(lost{}),
		&retrymark.Past{Err: io.EOF},
	} {
		for _, target := range []error{io.EOF, context.Canceled, context.DeadlineExceeded} {
			if got, want := retrymark.IsAny(err, target), errors.Is(err, target); got != want {
				t.Errorf("IsAny(%v, %v) = %v", err, target, got)
			}
		}
		if got, want := retrymark.IsAny(err, context.Canceled, io.EOF), errors.Is(err, io.EOF) || errors.Is(err, context.Canceled); got != want {
			t.Errorf("IsAny(%v) of two targets = %v", err, got)
		}
	}
	if retrymark.IsAny(nilPath, io.EOF) {
		t.Error("a nil pointer is io.EOF")
	}
	if !retrymark.IsAny(errors.Join(nilPath, io.EOF), io.EOF) {
		t.Error("an error beside a nil pointer is not found")
	}
}

func TestIsNil(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, true},
		{nilPath, true},
		{io.EOF, false},
		{lost{}, false},
		{context.DeadlineExceeded, false},
	} {
		if got := retrymark.IsNil(c.err); got != c.want {
			t.Errorf("IsNil(%#v) = %v", c.err, got)
		}
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	err := fmt.Errorf("busy: %w", permanent(retrymark.After(time.Second)))
	if n := testing.AllocsPerRun(100, func() { retrymark.Of(err) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
