package statuscache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Whether each operation ends a wait for data after t3, on a key with an entry of t2.
func TestGetNewerThanEndsOnlyByNewerData(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *statuscache.Cache[string, string], cancel func())
		want *answered // nil: still waiting
	}{
		{"nothing", func(c *statuscache.Cache[string, string], cancel func()) {}, nil},
		{"a newer write", func(c *statuscache.Cache[string, string], cancel func()) { c.Set("a", "new", nil, t4) }, &answered{statuscache.Entry[string]{"new", nil, t4, true}, nil}},
		{"a failed inspection", func(c *statuscache.Cache[string, string], cancel func()) { c.Set("a", "", errInspect, t4) }, &answered{statuscache.Entry[string]{"", errInspect, t4, true}, nil}},
		{"a write at the same time", func(c *statuscache.Cache[string, string], cancel func()) { c.Set("a", "new", nil, t3) }, nil},
		{"a write of another key", func(c *statuscache.Cache[string, string], cancel func()) { c.Set("b", "new", nil, t4) }, nil},
		{"a deletion", func(c *statuscache.Cache[string, string], cancel func()) { c.Delete("a", t4) }, &answered{statuscache.Entry[string]{"", nil, t4, false}, nil}},
		{"an older deletion", func(c *statuscache.Cache[string, string], cancel func()) { c.Delete("a", t3) }, nil},
		{"a global time", func(c *statuscache.Cache[string, string], cancel func()) { c.Writer().UpdateTime(t4) }, &answered{statuscache.Entry[string]{"old", nil, t4, true}, nil}},
		{"the same global time", func(c *statuscache.Cache[string, string], cancel func()) { c.Writer().UpdateTime(t3) }, nil},
		{"the context", func(c *statuscache.Cache[string, string], cancel func()) { cancel() }, &answered{err: context.Canceled}},
		{"Close", func(c *statuscache.Cache[string, string], cancel func()) { c.Close() }, &answered{err: statuscache.ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(statuscache.Options[string]{})
				c.Set("a", "old", nil, t2)
				ctx, cancel := context.WithCancel(t.Context())
				out := waiting(c, ctx, "a", t3)
				synctest.Wait()
				tt.do(c, cancel)
				synctest.Wait()
				select {
				case got := <-out:
					if tt.want == nil || !alike(got.Entry, tt.want.Entry) || !errors.Is(got.err, tt.want.err) {
						t.Errorf("got %+v, want %+v", got, tt.want)
					}
				default:
					if tt.want != nil {
						t.Errorf("still waiting, want %+v", *tt.want)
					}
				}
				cancel()
				synctest.Wait()
				if _, n, _ := c.Held(); n != 0 {
					t.Errorf("%d waits left behind", n)
				}
			})
		})
	}
}

// waiting starts a wait and returns where its answer will be.
func waiting(c *statuscache.Cache[string, string], ctx context.Context, key string, min time.Time) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		e, err := c.GetNewerThan(ctx, key, min)
		out <- answered{e, err}
	}()
	return out
}

type answered struct {
	statuscache.Entry[string]
	err error
}

// A global time, a write and Close end any number of waits that they answer.
func TestAllWaitsEndTogether(t *testing.T) {
	const waiters = 1050
	for name, end := range map[string]func(c *statuscache.Cache[string, string]){
		"a global time": func(c *statuscache.Cache[string, string]) { c.Writer().UpdateTime(t4) },
		"a write":       func(c *statuscache.Cache[string, string]) { c.Set("a", "new", nil, t4) },
		"Close":         func(c *statuscache.Cache[string, string]) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(statuscache.Options[string]{})
				out := make(chan answered, waiters)
				for range waiters {
					go func() {
						e, err := c.GetNewerThan(t.Context(), "a", t3)
						out <- answered{e, err}
					}()
				}
				synctest.Wait()
				end(c)
				synctest.Wait()
				if len(out) != waiters {
					t.Errorf("%d of %d waits have ended", len(out), waiters)
				}
				c.Close()
			})
		})
	}
}

// A hit answers at once, even with a context that is done or after Close.
func TestHitIgnoresContextAndClose(t *testing.T) {
	c := free(statuscache.Options[string]{})
	c.Set("a", "x", nil, t2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Close()
	if e, err := c.GetNewerThan(ctx, "a", t1); err != nil || e.Status != "x" {
		t.Errorf("= %+v, %v", e, err)
	}
	if _, err := c.GetNewerThan(t.Context(), "a", t2); err != statuscache.ErrClosed {
		t.Errorf("a miss after Close: %v, want ErrClosed", err)
	}
	if c.Set("a", "y", nil, t3) || c.Delete("a", t3) {
		t.Error("a write after Close is accepted")
	}
}

// An empty cache answers no wait, however early its min. (kubernetes#120941: a miss
// answered as "no containers")
func TestEmptyCacheAnswersNoWait(t *testing.T) {
	for _, min := range []time.Time{{}, time.Time{}.Add(-time.Hour), time.Time{}.AddDate(-1000, 0, 0), t0} {
		c := free(statuscache.Options[string]{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := c.GetNewerThan(ctx, "a", min); err != context.Canceled {
			t.Errorf("min %v: %+v, %v", min, e, err)
		}
		if e := c.Get("a"); e.Present || !e.Modified.IsZero() {
			t.Errorf("a miss is known: %+v", e)
		}
	}
}

// WaitFor sees the writes that change the answer, and ends with the context and with
// Close.
func TestWaitForSeesEveryWriteThatCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(statuscache.Options[string]{AcceptEqual: true})
		asked := 0
		out := make(chan answered, 1)
		go func() {
			e, err := c.WaitFor(t.Context(), "a", func(e statuscache.Entry[string]) bool {
				asked++
				return !e.Present && !e.Modified.IsZero()
			})
			out <- answered{e, err}
		}()
		for i, do := range []func(){
			func() {},
			func() { c.Set("a", "1", nil, t1) },
			func() { c.Set("a", "2", nil, t1) }, // as new, and accepted
			func() { c.Writer().UpdateTime(t2) },
			func() { c.Set("b", "3", nil, t3) }, // another key: not asked
			func() { c.Delete("a", t4) },
		} {
			do()
			synctest.Wait()
			if want := []int{1, 2, 3, 4, 4, 5}[i]; asked != want {
				t.Errorf("after step %d: asked %d times, want %d", i, asked, want)
			}
		}
		if got := <-out; got.err != nil || got.Present || !got.Modified.Equal(t4) {
			t.Errorf("= %+v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.WaitFor(ctx, "a", func(e statuscache.Entry[string]) bool { return false }); err != context.DeadlineExceeded {
			t.Errorf("with a deadline: %v", err)
		}
		c.Close()
		if _, err := c.WaitFor(t.Context(), "a", func(e statuscache.Entry[string]) bool { return false }); err != statuscache.ErrClosed {
			t.Errorf("closed: %v", err)
		}
		if err := c.Valid(); err != nil {
			t.Error(err)
		}
	})
}

// A wait freed while its context ends returns its answer, regardless of which it sees
// first.
func TestWaitFreedWhileItsContextEnds(t *testing.T) {
	for range 64 {
		c := free(statuscache.Options[string]{})
		ctx := endsMeanwhile{t.Context(), func() { c.Set("a", "x", nil, t2) }}
		if e, err := c.GetNewerThan(ctx, "a", t1); err != nil || e.Status != "x" {
			t.Fatalf("= %+v, %v", e, err)
		}
		ctx.do = func() {}
		if _, err := c.GetNewerThan(ctx, "a", t2); err != context.Canceled {
			t.Fatal(err)
		}
		if _, n, _ := c.Held(); c.Valid() != nil || n != 0 {
			t.Fatalf("%d waits are left; %v", n, c.Valid())
		}
	}
}

// endsMeanwhile is a context that runs a function and ends when its Done is called.
type endsMeanwhile struct {
	context.Context
	do func()
}

func (e endsMeanwhile) Done() <-chan struct{} {
	e.do()
	over := make(chan struct{})
	close(over)
	return over
}

func (e endsMeanwhile) Err() error { return context.Canceled }

// The first of the current waits is announced.
func TestFirstWaitIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := statuscache.New[string, int](statuscache.Options[int]{})
		defer c.Close()
		announced := 0
		wait := func() {
			go c.GetNewerThan(context.Background(), "p", time.Now())
			synctest.Wait()
			select {
			case <-c.Writer().WaitBegan():
				announced++
			default:
			}
		}
		wait()
		wait()
		if announced != 1 {
			t.Errorf("two waits are announced %d times, want once", announced)
		}
	})
}

// With a limit of 0, which means none, each wait is overdue once per moment.
func TestOverdueWithoutALimitReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := statuscache.New[string](statuscache.Options[string]{})
		for range 3 {
			go c.WaitFor(t.Context(), "p", func(statuscache.Entry[string]) bool { return false })
		}
		synctest.Wait()
		time.Sleep(time.Millisecond)
		for _, want := range []int{1, 0} {
			keys, next, waiting := c.Writer().Overdue(time.Now(), 0)
			if len(keys) != want || !waiting || next.Before(time.Now()) {
				t.Errorf("%v are overdue, waiting %v until %v; want %d", keys, waiting, next, want)
			}
		}
		c.Close()
	})
}
