package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

// openFolder returns a new folder that other users may read.
func openFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// logFolder returns the folder of a container's logs with these files. A name that ends
// with / is a folder.
func logFolder(t *testing.T, names ...string) string {
	t.Helper()
	folder := filepath.Join(openFolder(t), "ns_p_uid", "c")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func namesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The numbers of logs give the restart count, as in the kubelet. All logs but those of
// the largest number are removed, and no other file.
func TestLogs(t *testing.T) {
	for _, tt := range []struct {
		names, kept []string // sorted
		next        int64
	}{
		{nil, nil, 0},
		{[]string{"0.log"}, []string{"0.log"}, 1},
		{[]string{"0.log", "1.log", "10.log", "9.log"}, []string{"10.log"}, 11},
		{
			[]string{"0.log", "0.log.20261123-101112.gz", "1.log", "1.log.20261124-101112", "1.log.20261124-101112.gz.tmp"},
			[]string{"1.log", "1.log.20261124-101112", "1.log.20261124-101112.gz.tmp"}, 2,
		},
		{[]string{"0.log.20261123-101112.gz", "1.log.20261123-101112.gz"}, []string{"1.log.20261123-101112.gz"}, 2},
		{[]string{"-1.log", ".log", "3log", "log.3", "x.log", "x3.log"}, []string{"-1.log", ".log", "3log", "log.3", "x.log", "x3.log"}, 0},
		{[]string{"0.log", "1.log/", "x.log"}, []string{"0.log", "1.log", "x.log"}, 1},
		{[]string{"0.log", "000.log", "002.log", "1.log"}, []string{"002.log"}, 3},
		// No run has these numbers, so the kubelet's own restart count is wrong, too.
		{[]string{"0.log", "4294967296.log"}, []string{"4294967296.log"}, 1<<32 + 1},
		{[]string{"0.log", "1.log", "99999999999999999999.log"}, []string{"1.log", "99999999999999999999.log"}, 2},
	} {
		folder := logFolder(t, tt.names...)
		path := filepath.Join(folder, "0.log")
		if next := nextCount(path); next != tt.next {
			t.Errorf("%v: restart count %d, want %d", tt.names, next, tt.next)
		}
		n, err := prune(path, "ns_p_uid", "c")
		if got := namesIn(t, folder); err != nil || !slices.Equal(got, tt.kept) || n != len(tt.names)-len(got) {
			t.Errorf("%v: %d removed, %v left, want %v; %v", tt.names, n, got, tt.kept, err)
		}
		if next := nextCount(path); next != tt.next {
			t.Errorf("%v: restart count %d after the removal, want %d", tt.names, next, tt.next)
		}
	}
}

// The runtime tells the path of a log. Another container's folder is left alone.
func TestPruneOfAnotherFolder(t *testing.T) {
	folder := logFolder(t, "0.log", "1.log")
	for _, tt := range []struct{ path, pod, container string }{
		{filepath.Join(folder, "0.log"), "ns_p_other", "c"},
		{filepath.Join(folder, "0.log"), "ns_p_uid", "d"},
		{filepath.Join(folder, "deeper", "0.log"), "ns_p_uid", "c"},
		{filepath.Join(folder, "..", "0.log"), "ns_p_uid", "c"},
		{"", "ns_p_uid", "c"},
		{"0.log", "ns_p_uid", "c"},
	} {
		if n, err := prune(tt.path, tt.pod, tt.container); n != 0 || err == nil {
			t.Errorf("prune(%q, %s, %s): %d removed, %v", tt.path, tt.pod, tt.container, n, err)
		}
	}
	if got := namesIn(t, folder); len(got) != 2 {
		t.Errorf("%v is left", got)
	}
	if n := nextCount(""); n != 0 {
		t.Errorf("restart count %d without a log", n)
	}
}

// asNobody calls f without the right to read or write the files of this user, even
// for root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked, so the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

// Logs that cannot be removed stay. The others are removed.
func TestPruneFails(t *testing.T) {
	folder := logFolder(t, "0.log", "1.log", "2.log")
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o755)
	asNobody(t, func() {
		n, err := prune(filepath.Join(folder, "0.log"), "ns_p_uid", "c")
		if n != 0 || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "0.log") || !strings.Contains(err.Error(), "1.log") {
			t.Errorf("%d removed, %v", n, err)
		}
	})
	if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		if n, err := prune(filepath.Join(folder, "0.log"), "ns_p_uid", "c"); n != 0 || !errors.Is(err, os.ErrPermission) {
			t.Errorf("%d removed, %v", n, err)
		}
		if n := nextCount(filepath.Join(folder, "0.log")); n != 0 {
			t.Errorf("restart count %d", n)
		}
	})
}

// A log that cannot be removed is counted and logged. The container restarts, and so do
// others.
func TestRestartWithLogsThatStay(t *testing.T) {
	f, socket := newFakeRuntime(t), newSocket(t)
	f.listen(socket)
	n, err := dial("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	h := newHost(t, f, n, openFolder(t))
	h.static("web", secondAfter42)
	h.logFile("web", "0.log")
	h.exit("web", "run1", 42, 1)
	if err := os.Chmod(filepath.Dir(h.logFile("web", "0.log")), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(h.logFile("web", "1.log")), 0o755)
	f.with(func() { f.records["run1"].status.FinishedAt -= int64(time.Hour) })
	asNobody(t, func() {
		// The settle time, which a kubelet needs, is over.
		h.turn(t.Context())
		h.began = h.began.Add(-decide.Settle)
		if _, err := h.turn(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if got := f.of("RemoveContainer"); len(got) != 1 {
		t.Errorf("removals: %q", got)
	}
	if errors, pruned := h.counted("errors", "prune"), h.counted("pruned_logs", ""); errors != 1 || pruned != 0 {
		t.Errorf("%v errors and %v removed logs counted", errors, pruned)
	}
	if got := h.log.with("prune failed"); len(got) != 1 || !strings.Contains(got[0], "permission denied") || !strings.Contains(got[0], "default/web-node1") {
		t.Errorf("logged %q", got)
	}
}

// Without logs that continue the restart count, a container is left to the kubelet.
func TestLogsThatDoNotContinueTheCount(t *testing.T) {
	for name, change := range map[string]func(folder string) error{
		"no folder":  os.RemoveAll,
		"other file": func(folder string) error { return os.WriteFile(filepath.Join(folder, "7.log"), nil, 0o600) },
		"no log":     func(folder string) error { return os.Remove(filepath.Join(folder, "2.log")) },
		"a folder": func(folder string) error {
			return errors.Join(os.Remove(filepath.Join(folder, "2.log")), os.Mkdir(filepath.Join(folder, "2.log"), 0o755))
		},
		"no container's": func(folder string) error {
			return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600))
		},
	} {
		bubble(t, func(t *testing.T, h *host) {
			h.static("web", secondAfter42)
			h.exit("web", "run2", 42, 2)
			folder := filepath.Dir(h.logFile("web", "2.log"))
			if err := change(folder); err != nil {
				t.Fatal(err)
			}
			h.start()
			h.after(time.Minute)
			h.want()
			if n, logged := h.counted("refused", string(decide.ReasonLog)), h.log.with("verdict=log"); n != 1 || len(logged) != 1 {
				t.Errorf("%s: %v refusals counted, logged %q", name, n, logged)
			}
			if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "2.log"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			h.after(decide.Poll)
			h.want("RemoveContainer run2", "CreateContainer box-uid-web")
		})
	}
}
