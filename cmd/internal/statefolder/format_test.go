//go:build unix

package statefolder

import (
	"strings"
	"testing"
)

type runState struct {
	Run struct {
		Step int    `json:"step"`
		Text string `json:"text,omitempty"`
	} `json:"run"`
}

func TestStateReadsBack(t *testing.T) {
	var old runState
	old.Run.Step, old.Run.Text = 7, "<a> & é"
	text, err := Encode(2, old)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{2, 3} {
		var got runState
		if err := Decode(text, version, &got); err != nil || got != old {
			t.Errorf("version %d reads %s as %+v, %v", version, text, got, err)
		}
	}
}

// A bit that flips anywhere in the file is noticed, also where the JSON stays valid.
func TestDamageIsNoticed(t *testing.T) {
	var old runState
	old.Run.Step, old.Run.Text = 1234567, "abcdefgh"
	text, err := Encode(2, old)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text[:len(text)-1] {
		for bit := range 8 {
			damaged := []byte(string(text))
			damaged[i] ^= 1 << bit
			var got runState
			if err := Decode(damaged, 2, &got); err == nil && got != old {
				t.Errorf("%s is read as %+v", damaged, got)
			}
		}
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"run": {"step": 1}}`:                         "", // version 1 of runjob
		`{"version": 1, "run": {"step": 1}}`:           "", // and of the others
		`{"version":2,"crc32":"c4bcc13f","state": {}}`: `damaged or edited: the checksum is a3a6bf43, must be "c4bcc13f"`,
		`{"version":2,"run":{"step":1}}`:               "not a state of this program: state is missing",
		`{"version":3,"crc32":"","state":{}}`:          "a later release has written it: version is 3, this release reads up to 2",
		`{"version":3,"another":"layout"}`:             "a later release has written it: version is 3, this release reads up to 2",
		`[]`:                                           "not a state of this program, but a JSON array",
		`{"run": {"step": "x"}}`:                       "not a state of this program: run.step is a JSON string",
		`{`:                                            "unexpected end of JSON input",
	} {
		var into runState
		got := ""
		if err := Decode([]byte(text), 2, &into); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	// White space does not count: a file may be laid out for reading.
	text, _ := Encode(2, runState{})
	laid := strings.NewReplacer(`{`, "{\n  ", `:`, `: `, `,`, ",\n  ").Replace(string(text))
	var into runState
	if err := Decode([]byte(laid), 2, &into); err != nil {
		t.Errorf("%s: %v", laid, err)
	}
}
