package statefile_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/crashpoint"
	"github.com/restartkit/restart/statefile"
)

type state struct{ N int }

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := state{7}
	if found, err := statefile.Load(path, &s); found || err != nil || s.N != 7 {
		t.Errorf("no file: %v, %v, %v", found, err, s)
	}
	for n := range 3 {
		if err := statefile.Save(path, state{n}); err != nil {
			t.Fatal(err)
		}
		if found, err := statefile.Load(path, &s); !found || err != nil || s.N != n {
			t.Errorf("%v, %v, %v", found, err, s)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// Save and Load mean the same file by one path, as the operating system does: behind a
// symbolic link, .. is the folder above the link's target.
func TestSaveAndLoadAgreeOnThePath(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("releases/v2/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("releases/v2", "current"); err != nil {
		t.Skip(err)
	}
	for i, path := range []string{"current/../state.json", "current/sub/../../other.json", "./current/.././third.json", "plain.json", "current/in.json"} {
		if err := statefile.Save(path, state{i}); err != nil {
			t.Fatal(err)
		}
		var s state
		if found, err := statefile.Load(path, &s); !found || err != nil || s.N != i {
			t.Errorf("%s: found %v, %v, %v", path, found, s, err)
		}
	}
	for _, path := range []string{"releases/state.json", "releases/other.json", "releases/third.json", "plain.json", "releases/v2/in.json"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A path that cannot be replaced, here because it is a folder, has an error and leaves
// nothing behind.
func TestFailedSaveLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := statefile.Save(path, state{1}); err == nil || !strings.Contains(err.Error(), "state.json") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestFileIsIndented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := statefile.Save(path, map[string]any{"a": json.RawMessage(`{"b":[1]}`)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}\n"; string(text) != want || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// hidden has fields that encoding/json does not see.
type hidden struct{ n int }

// written has them, too, but writes them itself.
type written struct{ n int }

func (w *written) MarshalJSON() ([]byte, error) { return json.Marshal(w.n) }

type embeds struct{ hidden }

type recursive struct{ *recursive }

// A state of which a part would be lost, without an error of encoding/json, is refused.
func TestStateThatWouldBeLostIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for name, tt := range map[string]struct {
		state any
		want  string // in the error; "" if it is saved
	}{
		"no exported field":         {hidden{1}, "nothing of statefile_test.hidden would be saved: it has no exported fields"},
		"behind a pointer":          {&hidden{1}, "no exported fields"},
		"in a field":                {struct{ A, B any }{}, ""},
		"in a struct field":         {struct{ In struct{ H hidden } }{}, "In: H: nothing of statefile_test.hidden"},
		"in a list":                 {[]hidden{{1}}, "no exported fields"},
		"in a map of pointers":      {map[string]*hidden{}, "no exported fields"},
		"a counter of sync/atomic":  {struct{ N atomic.Int64 }{}, "N: nothing of atomic.Int64"},
		"embedded":                  {embeds{hidden{1}}, "nothing of statefile_test.embeds"},
		"embedded beside others":    {struct{ hidden }{}, "no exported fields"},
		"embedded in itself":        {recursive{}, "no exported fields"},
		"a method of the pointer":   {written{1}, "pass a pointer"},
		"a pointer with the method": {&written{1}, ""},
		"the same in a field":       {struct{ W written }{}, "W: nothing of statefile_test.written would be saved: pass a pointer"},
		"a field behind a pointer":  {&struct{ W written }{}, ""},
		"a map of values":           {map[string]written{}, "pass a pointer"},
		"left out on purpose": {struct {
			H hidden `json:"-"`
			N int
		}{}, ""},
		"a lock beside the state": {&struct {
			Mutex sync.Mutex
			N     int
		}{}, ""},
		"locks of every type": {&struct {
			RWMutex sync.RWMutex
			Once    sync.Once
			Group   sync.WaitGroup
			Cond    *sync.Cond
		}{}, ""},
		"a map of sync":            {&struct{ Seen sync.Map }{}, "Seen: nothing of sync.Map"},
		"a map of sync as a state": {new(sync.Map), "nothing of sync.Map"},
		"an unexported field beside it": {struct {
			h hidden
			N int
		}{}, ""},
		"an empty struct": {map[string]struct{}{"a": {}}, ""},
		"a time":          {time.Time{}, ""},
		"nothing":         {nil, ""},
		"a number":        {7, ""},
	} {
		err := statefile.Save(path, tt.state)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// At every point where the process may die, the file has the old or the new content, and
// the next Save works.
func TestCrashLeavesOldOrNewContent(t *testing.T) {
	defer func(f func()) { crashpoint.Reached = f }(crashpoint.Reached)
	path := filepath.Join(t.TempDir(), "state.json")
	var seen []int
	old := 0
	for at := range 10 {
		if err := statefile.Save(path, state{old}); err != nil {
			t.Fatal(err)
		}
		points := 0
		crashpoint.Reached = func() {
			if points++; points == at+1 {
				panic("killed")
			}
		}
		killed := func() (killed bool) {
			defer func() { killed = recover() != nil }()
			return statefile.Save(path, state{old + 1}) == nil && false
		}()
		crashpoint.Reached = func() {}
		var s state
		if found, err := statefile.Load(path, &s); !found || err != nil || s.N != old && s.N != old+1 {
			t.Fatalf("killed at point %d: %v, %v, %v", at, found, err, s)
		}
		if !killed {
			if at < 4 {
				t.Errorf("only %d points", at)
			}
			break
		}
		seen = append(seen, s.N-old)
		old += 2
	}
	if !slices.IsSorted(seen) || !slices.Contains(seen, 0) || !slices.Contains(seen, 1) {
		t.Errorf("new content after each point: %v", seen)
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"N": `), 0o600); err != nil {
		t.Fatal(err)
	}
	var s state
	_, loadBroken := statefile.Load(broken, &s)
	_, loadFolder := statefile.Load(dir, &s)
	blocked := filepath.Join(dir, "blocked.json")
	if err := os.MkdirAll(blocked+".new/x", 0o700); err != nil {
		t.Fatal(err)
	}
	syntax := (*json.SyntaxError)(nil)
	for name, err := range map[string]error{
		"Load broken": loadBroken, "Load folder": loadFolder,
		"Save missing": statefile.Save(filepath.Join(dir, "none", "x.json"), s),
		"Save func":    statefile.Save(filepath.Join(dir, "x.json"), func() {}),
		"Save blocked": statefile.Save(blocked, s),
		"Save folder":  statefile.Save(dir+string(os.PathSeparator), s),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "statefile: "+name[:4]+"(") || !strings.Contains(err.Error(), filepath.Base(dir)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !errors.As(loadBroken, &syntax) {
		t.Errorf("%v", loadBroken)
	}
}

// A link at the path of the temporary file is not followed.
func TestSaveFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "state.json")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{path, path + ".new"} {
		if err := os.Symlink(victim, link); err != nil {
			t.Skip(err)
		}
	}
	if err := statefile.Save(path, state{1}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "precious" {
		t.Errorf("%q", text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// A ledger is a state that goroutines share.
type ledger struct {
	mu      sync.Mutex
	entries [8]int

	encoding, atOnce atomic.Int32 // Saves that encode it now, and the most of them
}

func (l *ledger) MarshalJSON() ([]byte, error) {
	l.atOnce.Store(max(l.atOnce.Load(), l.encoding.Add(1)))
	defer l.encoding.Add(-1)
	l.mu.Lock()
	entries := l.entries
	l.mu.Unlock()
	for range 100 { // the others have time to change it
		runtime.Gosched()
	}
	return json.Marshal(entries)
}

// When a Save has returned, the file has what the goroutine changed before it, whatever the
// Saves of others do meanwhile.
func TestNoSaveBringsAnOlderStateBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var shared ledger
	var saves sync.WaitGroup
	for i := range shared.entries {
		saves.Go(func() {
			for n := range 20 {
				shared.mu.Lock()
				shared.entries[i] = n + 1
				shared.mu.Unlock()
				if err := statefile.Save(path, &shared); err != nil {
					t.Error(err)
				}
				var saved [8]int
				if found, err := statefile.Load(path, &saved); !found || err != nil || saved[i] != n+1 {
					t.Errorf("entry %d is %d after its Save, want %d: %v, %v", i, saved[i], n+1, found, err)
				}
			}
		})
	}
	saves.Wait()
	if n := shared.atOnce.Load(); n != 1 {
		t.Errorf("%d Saves encode the state at once, so that an older one may be written last", n)
	}
}

// A file that cannot be read is told from one whose content is damaged.
func TestLoadTellsDamageFromUnreadableFiles(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(damaged, []byte(`{"Runs": `), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, unreadable := range map[string]bool{damaged: false, t.TempDir(): true} {
		var state struct{ Runs int }
		_, err := statefile.Load(path, &state)
		var of *fs.PathError
		if err == nil || errors.As(err, &of) != unreadable {
			t.Errorf("%s: %v", path, err)
		}
	}
}
