package statuscache

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The table has what ends a wait that began at t3 on a key with an entry of t2,
// and what does not.
func TestWaitEndsByWhatIsNewerOnly(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *Cache[string, string], cancel func())
		want *answered // nil: still waiting
	}{
		{"nothing", func(c *Cache[string, string], cancel func()) {}, nil},
		{"a newer write", func(c *Cache[string, string], cancel func()) { c.Set("a", "new", nil, t4) }, &answered{Entry[string]{"new", nil, t4, true}, nil}},
		{"a failed inspection", func(c *Cache[string, string], cancel func()) { c.Set("a", "", errInspect, t4) }, &answered{Entry[string]{"", errInspect, t4, true}, nil}},
		{"a write at the same time", func(c *Cache[string, string], cancel func()) { c.Set("a", "new", nil, t3) }, nil},
		{"a write of another key", func(c *Cache[string, string], cancel func()) { c.Set("b", "new", nil, t4) }, nil},
		{"a deletion", func(c *Cache[string, string], cancel func()) { c.Delete("a", t4) }, &answered{Entry[string]{"", nil, t4, false}, nil}},
		{"an older deletion", func(c *Cache[string, string], cancel func()) { c.Delete("a", t3) }, nil},
		{"a global time", func(c *Cache[string, string], cancel func()) { c.UpdateTime(t4) }, &answered{Entry[string]{"old", nil, t4, true}, nil}},
		{"the same global time", func(c *Cache[string, string], cancel func()) { c.UpdateTime(t3) }, nil},
		{"the context", func(c *Cache[string, string], cancel func()) { cancel() }, &answered{err: context.Canceled}},
		{"Close", func(c *Cache[string, string], cancel func()) { c.Close() }, &answered{err: ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(Options[string]{})
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
				if n := len(c.waits.byTime) + len(c.waits.byKey); n != 0 {
					t.Errorf("%d waiters left behind", n)
				}
			})
		})
	}
}

// waiting starts a wait and returns where its answer will be.
func waiting(c *Cache[string, string], ctx context.Context, key string, min time.Time) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		e, err := c.GetNewerThan(ctx, key, min)
		out <- answered{e, err}
	}()
	return out
}

type answered struct {
	Entry[string]
	err error
}

// A global time, a write and Close end all the waits they answer, however many
// there are.
func TestAllWaitsEndTogether(t *testing.T) {
	const waiters = 1050
	for name, end := range map[string]func(c *Cache[string, string]){
		"a global time": func(c *Cache[string, string]) { c.UpdateTime(t4) },
		"a write":       func(c *Cache[string, string]) { c.Set("a", "new", nil, t4) },
		"Close":         func(c *Cache[string, string]) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(Options[string]{})
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

// A hit answers at once, even under a context that is over, and after Close.
func TestHitAnswersUnderAnyContext(t *testing.T) {
	c := free(Options[string]{})
	c.Set("a", "x", nil, t2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Close()
	if e, err := c.GetNewerThan(ctx, "a", t1); err != nil || e.Status != "x" {
		t.Errorf("= %+v, %v", e, err)
	}
	if _, err := c.GetNewerThan(t.Context(), "a", t2); err != ErrClosed {
		t.Errorf("a miss after Close: %v, want ErrClosed", err)
	}
	if c.Set("a", "y", nil, t3) || c.Delete("a", t3) {
		t.Error("a write after Close is accepted")
	}
}

// No min, however early, is answered by a cache that knows nothing.
// (kubernetes#120941: a miss answered as "no containers")
func TestEmptyCacheAnswersNoWait(t *testing.T) {
	for _, min := range []time.Time{{}, time.Time{}.Add(-time.Hour), time.Time{}.AddDate(-1000, 0, 0), t0} {
		c := free(Options[string]{})
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

// WaitFor sees the writes that change the answer, and ends with the context,
// and with Close.
func TestWaitForSeesEveryWriteThatCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(Options[string]{AcceptEqual: true})
		asked := 0
		out := make(chan answered, 1)
		go func() {
			e, err := c.WaitFor(t.Context(), "a", func(e Entry[string]) bool {
				asked++
				return !e.Present && !e.Modified.IsZero()
			})
			out <- answered{e, err}
		}()
		for i, do := range []func(){
			func() {},
			func() { c.Set("a", "1", nil, t1) },
			func() { c.Set("a", "2", nil, t1) }, // as new, and accepted
			func() { c.UpdateTime(t2) },
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
		if _, err := c.WaitFor(ctx, "a", func(e Entry[string]) bool { return false }); err != context.DeadlineExceeded {
			t.Errorf("with a deadline: %v", err)
		}
		c.Close()
		if _, err := c.WaitFor(t.Context(), "a", func(e Entry[string]) bool { return false }); err != ErrClosed {
			t.Errorf("closed: %v", err)
		}
		if err := c.valid(); err != nil {
			t.Error(err)
		}
	})
}

// A wait that is freed while its context ends has its answer, whichever of the
// two it sees first.
func TestWaitFreedWhileItsContextEnds(t *testing.T) {
	for range 64 {
		c := free(Options[string]{})
		ctx := endsMeanwhile{t.Context(), func() { c.Set("a", "x", nil, t2) }}
		if e, err := c.GetNewerThan(ctx, "a", t1); err != nil || e.Status != "x" {
			t.Fatalf("= %+v, %v", e, err)
		}
		ctx.do = func() {}
		if _, err := c.GetNewerThan(ctx, "a", t2); err != context.Canceled {
			t.Fatal(err)
		}
		if err := c.valid(); err != nil || len(c.waits.byTime) != 0 || c.waits.byAge.Len() != 0 {
			t.Fatalf("%d waiters are left; %v", len(c.waits.byTime), err)
		}
	}
}

// endsMeanwhile is a context that is over as soon as somebody waits for its end,
// and meanwhile does something.
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

// One that is set after a wait has looked and before it has begun is not slept
// through; nor is a write.
func TestGlobalTimeBeforeTheWaitEndsIt(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := free(Options[string]{})
	c.Set("old", "x", nil, t1)
	for _, key := range []string{"absent", "old"} {
		r, global := c.lookup(key)
		w := &waiter[string]{key: key, min: max(r.when(), global)}
		if err := c.wait(over, w, r); err != context.Canceled {
			t.Errorf("%s: nothing has happened: %v", key, err)
		}
	}
	r, global := c.lookup("old")
	missing, _ := c.lookup("absent")
	c.UpdateTime(t2)
	if err := c.wait(over, &waiter[string]{key: "absent", min: global}, missing); err != nil {
		t.Errorf("absent: %v", err)
	}
	if err := c.wait(over, &waiter[string]{key: "old", min: r.when()}, r); err != nil {
		t.Errorf("old: %v", err)
	}
	r, global = c.lookup("old")
	c.Set("old", "y", nil, t2)
	if err := c.wait(over, &waiter[string]{key: "old", min: global, any: true}, r); err != nil {
		t.Errorf("written: %v", err)
	}
}

// A wait for what is newer than a time does not end with that time, and is not
// overdue before it: newer is strictly after.
func TestTimeItselfFreesNoWait(t *testing.T) {
	c := free(Options[string]{})
	w := &waiter[string]{key: "a", min: c.instant(t2), done: make(chan struct{}), asked: t0}
	c.waits.add(w)
	if freed := c.waits.written("a", w.min); freed != nil || !w.waiting() {
		t.Error("freed by a write of that time")
	}
	if freed, more := c.waits.upTo(w.min); freed != nil || more || !w.waiting() {
		t.Error("freed by a global time of that time")
	}
	if keys, next, _ := c.Overdue(t2, time.Second); len(keys) > 0 || !next.Equal(t3) {
		t.Errorf("overdue at that time: %v, next %v", keys, next)
	}
	if keys, next, _ := c.Overdue(t3.Add(-1), time.Second); len(keys) > 0 || !next.Equal(t3) {
		t.Errorf("overdue before its limit: %v, next %v", keys, next)
	}
	if keys, next, _ := c.Overdue(t3, time.Second); !slices.Equal(keys, []string{"a"}) || !next.Equal(t4) {
		t.Errorf("overdue at its limit: %v, next %v", keys, next)
	}
	c.Delete("b", t3)
	c.waits.add(&waiter[string]{key: "b", any: true, done: make(chan struct{})})
	if c.Delete("b", t3); len(c.waits.byTime) != 2 {
		t.Error("a deletion that says nothing new frees a wait")
	}
	if freed, _ := c.waits.upTo(w.min + 1); freed == nil {
		t.Error("not freed by a later time")
	}
}
