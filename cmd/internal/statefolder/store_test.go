//go:build unix

package statefolder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A state is loaded as it was saved, and one that cannot be used stays as it is.
func TestStoreLoadsWhatItSaved(t *testing.T) {
	s, err := OpenStore(t.TempDir(), "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := OpenStore("/dev/null/x", "test", 2); err == nil || !strings.HasPrefix(err.Error(), "-state: ") {
		t.Error(err)
	}
	valid := error(nil)
	load := func() (got runState, found bool, err error) {
		found, err = s.Load(&got, func() error { return valid })
		return got, found, err
	}
	if _, found, err := load(); found || err != nil {
		t.Errorf("without a state: %v, %v", found, err)
	}
	var want runState
	want.Run.Step = 3
	s.Save(want, func(err error) { t.Error(err) })
	if got, found, err := load(); got != want || !found || err != nil {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
	valid = errors.New("step is 3")
	if _, found, err := load(); found || err == nil || err.Error() != "-state: "+s.Path("test.json")+": step is 3; remove it to start over, or name another folder" {
		t.Errorf("%v, %v", found, err)
	}
	if err := os.WriteFile(s.Path("test.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found, err := load(); found || err == nil || !strings.Contains(err.Error(), "unexpected end of JSON input; remove") {
		t.Errorf("%v, %v", found, err)
	}
}

// Save writes what has changed, tries again after a failure, and warns of the first of
// several in a row.
func TestStoreWarnsOnce(t *testing.T) {
	s, err := OpenStore(t.TempDir(), "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	warnings := 0
	save := func(step int) bool {
		var st runState
		st.Run.Step = step
		s.Save(st, func(error) { warnings++ })
		return !s.Unsaved()
	}
	obstacle := s.Path("test.json.new")
	for round := range 2 {
		if !save(10 * round) {
			t.Fatal("not saved")
		}
		before, err := os.Stat(s.Path("test.json"))
		if err != nil {
			t.Fatal(err)
		}
		if save(10 * round); !sameFile(t, before, s.Path("test.json")) {
			t.Error("the same state was written again")
		}
		if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if save(10*round+1) || warnings != round+1 {
				t.Errorf("%d warnings", warnings)
			}
		}
		if err := os.RemoveAll(obstacle); err != nil {
			t.Fatal(err)
		}
		if !save(10*round+1) || sameFile(t, before, s.Path("test.json")) {
			t.Error("not saved after the failure")
		}
	}
}

func sameFile(t *testing.T, before os.FileInfo, path string) bool {
	t.Helper()
	now, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(before, now)
}
