package criwatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/restartkit/restart/pleg"
)

// A killable is the output and the state file of a watch that is killed at one of its
// writes: before it, in its middle, or after it.
type killable struct {
	file  bytes.Buffer // the output
	saved []byte       // the state
	left  int          // writes until the kill
	how   int          // 0, 1, 2: before, in, after that write
	dead  bool
}

var errKilled = errors.New("killed")

// write performs a write by do, which is given the part of it to perform.
func (k *killable) write(do func(part, of int)) error {
	if k.dead {
		return errKilled
	}
	if k.left--; k.left < 0 {
		k.dead = true
		do(k.how, 2)
		return errKilled
	}
	do(1, 1)
	return nil
}

func (k *killable) Write(p []byte) (int, error) {
	return len(p), k.write(func(part, of int) { k.file.Write(p[:len(p)*part/of]) })
}

// save replaces the state as a whole, or not at all.
func (k *killable) save(s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return k.write(func(part, of int) {
		if part == of {
			k.saved = text
		}
	})
}

func (k *killable) size() (int64, bool) { return int64(k.file.Len()), true }

// Watches are killed at each of their writes, and continued, while containers start, exit,
// and are removed. The file has every event of every container once.
func TestKilledWatchPrintsEverythingOnce(t *testing.T) {
	kills := 0
	for how := range 3 {
		for at := 1; at < 13; at++ { // before its first write, a watch has seen nothing
			synctest.Test(t, func(t *testing.T) {
				f := fakeAt(t, "")
				defer f.down()
				k := &killable{left: at, how: how}
				begin := func() (end func()) {
					o := Options{Format: "json", State: "in memory", Size: k.size, Relist: time.Second, Evented: time.Hour}
					var saved *state
					if k.saved != nil {
						saved = &state{}
						if err := json.Unmarshal(k.saved, saved); err != nil {
							t.Fatal(err)
						}
					}
					conn, err := dial("passthrough:///fake", grpc.WithContextDialer(f.connect))
					if err != nil {
						t.Fatal(err)
					}
					w, err := newWatch(newNode(conn), o, saved, k, slog.New(slog.NewTextHandler(io.Discard, nil)))
					if err != nil {
						t.Fatal(err)
					}
					w.save = k.save
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan error)
					go func() { done <- w.run(ctx) }()
					time.Sleep(2 * time.Second)
					return func() {
						cancel()
						if err := <-done; err != nil && !errors.Is(err, errKilled) {
							t.Error(err)
						}
						conn.Close()
						if k.dead {
							kills++
						}
						k.dead, k.left = false, 1<<30 // no further kill
					}
				}
				f.runPod("a")
				f.start("a", "a1")
				end := begin()
				f.start("a", "a2")
				f.exit("a1", 1)
				time.Sleep(2 * time.Second)
				f.exit("a2", 2)
				f.start("a", "a3")
				time.Sleep(2 * time.Second)
				end()
				f.exit("a3", 3) // while nobody watches
				f.remove("a1")
				end = begin()
				f.start("a", "a4")
				time.Sleep(2 * time.Second)
				f.exit("a4", 4)
				time.Sleep(2 * time.Second)
				end()
				end = begin()
				end()

				got := map[string]int{}
				for line := range bytes.Lines(k.file.Bytes()) {
					var l jsonLine
					if err := json.Unmarshal(line, &l); err != nil {
						t.Fatalf("%q: %v", line, err)
					}
					if l.Container == nil || l.Type == pleg.ContainerChanged {
						continue
					}
					what := fmt.Sprint(l.Container.ID, " ", l.Type)
					if code := int32(l.Container.ID[len(l.Container.ID)-1] - '0'); l.Exit != nil && l.Exit.Code != code {
						t.Errorf("%s with exit code %d", what, l.Exit.Code)
					}
					got[what]++
				}
				for _, what := range []string{
					"a ContainerStarted", "a1 ContainerDied", "a1 ContainerRemoved", "a2 ContainerDied", "a3 ContainerDied", "a4 ContainerStarted", "a4 ContainerDied",
				} {
					if got[what] == 0 {
						t.Errorf("killed at write %d (%d): never %s", at, how, what)
					}
				}
				for what, n := range got {
					if n > 1 {
						t.Errorf("killed at write %d (%d): %d times %s", at, how, n, what)
					}
				}
				if t.Failed() {
					t.Fatalf("the file has\n%s", &k.file)
				}
			})
		}
	}
	if kills < 20 {
		t.Errorf("only %d kills", kills)
	}
}

// The next watch prints what is missing in a file, and everything if it cannot know.
func TestMissingLines(t *testing.T) {
	size := func(n int64) func() (int64, bool) { return func() (int64, bool) { return n, true } }
	before := int64(100)
	for _, test := range []struct {
		lines  string
		before *int64
		size   func() (int64, bool)
		want   string
		told   bool
	}{
		{"", nil, nil, "", true},
		{"one\ntwo\n", &before, size(100), "one\ntwo\n", true},
		{"one\ntwo\n", &before, size(105), "wo\n", true},
		{"one\ntwo\n", &before, size(108), "", true},
		{"one\ntwo\n", &before, size(109), "one\ntwo\n", false}, // somebody else has written to it
		{"one\ntwo\n", &before, size(0), "one\ntwo\n", false},   // it was replaced
		{"one\ntwo\n", &before, nil, "one\ntwo\n", false},       // now it is a pipe
		{"one\ntwo\n", nil, size(8), "one\ntwo\n", false},       // it was one before
		{"one\ntwo\n", &before, func() (int64, bool) { return 0, false }, "one\ntwo\n", false},
	} {
		s := state{Lines: test.lines, Before: test.before}
		if got, told := s.missing(Options{Size: test.size}); got != test.want || told != test.told {
			t.Errorf("%+v: %q, %v", test, got, told)
		}
	}
}
