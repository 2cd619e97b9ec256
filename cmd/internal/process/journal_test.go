//go:build unix

package process

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// However many children end, the journal holds little more than what is still
// needed; that is never lost, and a second record of a child replaces the first.
func TestJournalKeepsWhatIsNeeded(t *testing.T) {
	folder, err := statefolder.Open(t.TempDir(), "test", "state.json")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	const name = "ends.log"
	before := Record{RecordKey: RecordKey{Owner: "earlier", Name: "main"}, Code: 7, At: time.Unix(1, 0).UTC()}
	if err := WriteJournal(folder, name, []Record{before}); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(folder.Dir(), name)
	if err != nil {
		t.Fatal(err)
	}
	largest := int64(0)
	for i := range 20_000 {
		r := Record{RecordKey: RecordKey{Owner: fmt.Sprint("pod-", i), Name: "main"}, Code: i % 256, Message: strings.Repeat("x", 100)}
		if err := j.write(r); err != nil {
			t.Fatal(err)
		}
		r.Output = "the last words"
		if err := j.write(r); err != nil {
			t.Fatal(err)
		}
		if i >= 10 {
			j.forget(fmt.Sprint("pod-", i-10))
		}
		largest = max(largest, j.log.Size())
	}
	if largest > largestJournal+1000 {
		t.Errorf("it had %d bytes", largest)
	}
	records, err := ReadJournal(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]Record)
	for _, r := range records {
		found[r.Owner] = r
	}
	for i := 19_990; i < 20_000; i++ {
		if r := found[fmt.Sprint("pod-", i)]; r.Code != i%256 || r.Output != "the last words" {
			t.Errorf("pod-%d: %+v", i, r)
		}
	}
	if found["earlier"] != before {
		t.Errorf("the record of an earlier run is %+v", found["earlier"])
	}
}

// A journal that no guard wrote is refused.
func TestOddJournalIsRefused(t *testing.T) {
	folder, err := statefolder.Open(t.TempDir(), "test", "state.json")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for text, want := range map[string]string{
		"x": "record 0", "{}": `owner is ""`, `{"owner":"../x","name":"a"}`: `owner is "../x"`,
		`{"owner":"a","name":"b","run":-1}`: "run is -1", `{"owner":"a","name":"b","code":256}`: "code is 256", `{"owner":"a","name":"b","signal":-9}`: "signal is -9",
	} {
		if err := folder.ReplaceLog("log", [][]byte{[]byte(text)}); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadJournal(folder, "log"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The journal can be read even while much output of children is unread.
func TestUnreadOutputLeavesTheJournalReadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(dir, "ends.log")
	if err != nil {
		t.Fatal(err)
	}
	const children = 3
	output := strings.Repeat("\x00", 1<<20) // in JSON it is 6 times as long
	record := func(i int) Record { return Record{RecordKey: RecordKey{Owner: "a", Name: "main", Run: i}, Code: 1} }
	for i := range children {
		if err := j.write(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range children {
		j.add(record(i), output)
	}
	if size := j.log.Size(); size > largestOutput {
		t.Errorf("the journal has %d bytes", size)
	}
	f, err := statefolder.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	records, err := ReadJournal(f, "ends.log")
	if err != nil || len(records) != children || records[0].Output != output {
		t.Errorf("%d records, %v", len(records), err)
	}
}
