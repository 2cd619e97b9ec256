package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// The tables of whole runs, as in testdata.
func TestTablesAreTheGoldenOnes(t *testing.T) {
	for _, tt := range []struct {
		golden string
		args   []string
	}{
		{"defaults", nil},
		{"half-node", []string{"-pods", "55", "-requests", "4", "-until", "15m"}},
		{"kep4603-decay", []string{"-policy", "crashes at once=kubelet", "-policy", "runs 10s=kubelet,run=10s", "-policy", "runs 9m59s=kubelet,run=9m59s", "-windows", "5m,10m,20m,30m"}},
		{"mix", []string{"-pods", "110", "-run", "10s", "-mix", "0.3"}},
		{"own", []string{"-policy", "kubelet", "-policy", "mine=1s/30s,free=1,run=1m", "-policy", "kubelet,max=4s",
			"-policy", "slow=10s/5m,factor=1.5,reset=1h", "-baseline", "mine", "-windows", "1s, 30s,5m,1h"}},
		{"runs-beyond-the-reset", []string{"-policy", "kubelet", "-policy", "pull=imagepull,reset=20m", "-run", "601s", "-until", "1h"}},
		{"systems", []string{"-compare", "kubelet,docker,systemd", "-policy", "systemd,StartLimitIntervalSec=0"}},
		{"systems-in-a-mix", []string{"-compare", "kubelet,systemd", "-run", "3s", "-mix", "0.5"}},
		{"all-of-a-mix", []string{"-policy", "1s/1s,factor=1", "-mix", "1", "-pods", "3", "-until", "90s"}},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := crashcurve(tt.args, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			programtest.Golden(t, filepath.Join("testdata", tt.golden+".txt"), stdout.String())
		})
	}
}

// A wrong flag is reported in one line that names it.
func TestWrongFlagOfCrashcurveIsNamed(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-policy x", `invalid value "x" for flag -policy: "x" is neither a preset (kubelet, kubelet-reduced, job, imagepull, docker, systemd, flink) nor INITIAL/MAX such as 1s/60s`},
		{"-policy 1x/60s", `invalid value "1x/60s" for flag -policy: "1x" is not a duration such as 10s or 1m30s`},
		{"-policy 1s/", `invalid value "1s/" for flag -policy: "" is not a duration such as 10s or 1m30s`},
		{"-policy 0s/1s", `invalid value "0s/1s" for flag -policy: 0s is not in 1ms..87600h`},
		{"-policy 10s/1s", `invalid value "10s/1s" for flag -policy: MAX 1s is below INITIAL 10s`},
		{"-policy 1s/99999999h", `invalid value "1s/99999999h" for flag -policy: "99999999h" is not a duration such as 10s or 1m30s`},
		{"-policy 1s/999999h", `invalid value "1s/999999h" for flag -policy: 999999h is not in 1ms..87600h`},
		{"-policy =kubelet", `invalid value "=kubelet" for flag -policy: the name is empty`},
		{"-policy " + strings.Repeat("n", 41) + "=kubelet", `invalid value "` + strings.Repeat("n", 41) + `=kubelet" for flag -policy: the name is longer than 40 letters`},
		{"-policy a\x1b[2J=kubelet", `invalid value "a\x1b[2J=kubelet" for flag -policy: the name has characters that cannot be printed`},
		{"-policy kubelet,free", `invalid value "kubelet,free" for flag -policy: option "free" is not NAME=VALUE`},
		{"-policy kubelet,free=-1", `invalid value "kubelet,free=-1" for flag -policy: option free: "-1" is not a whole number in 0..1000`},
		{"-policy kubelet,factor=1.001", `invalid value "kubelet,factor=1.001" for flag -policy: option factor: "1.001" is not 1 or a number from 1.01 on`},
		{"-policy kubelet,factor=NaN", `invalid value "kubelet,factor=NaN" for flag -policy: option factor: "NaN" is not 1 or a number from 1.01 on`},
		{"-policy kubelet,factor=Inf", `invalid value "kubelet,factor=Inf" for flag -policy: option factor: "Inf" is not 1 or a number from 1.01 on`},
		{"-policy kubelet,reset=-1s", `invalid value "kubelet,reset=-1s" for flag -policy: option reset: -1s is not in 0s..87600h`},
		{"-policy kubelet,jitter=1", `invalid value "kubelet,jitter=1" for flag -policy: option jitter: unknown; must be max, factor, free, reset or run`},
		{"-policy kubelet -policy kubelet", `-policy kubelet: another policy has this name; write NAME=kubelet`},
		{"-policy kubelet -policy kubelet=1s/1s", `-policy kubelet: another policy has this name; write NAME=1s/1s`},
		{strings.Repeat("-policy 1s/1s ", 9), `9 policies: at most 8 can be distinguished`},
		{"-baseline mine", `-baseline mine: no policy has that name`},
		{"-mix 1.1", `-mix 1.1: must be in 0..1`},
		{"-mix NaN", `-mix NaN: must be in 0..1`},
		{"-mix x", `invalid value "x" for flag -mix: must be a number`},
		{"-run -1s", `-run -1s: must be in 0s..87600h`},
		{"-until 0s", `-until 0s: must be in 1s..87600h`},
		{"-log z", `-log z: must be x, y, xy or none`},
		{"-windows 1s,1s", `-windows 1s,1s: each end must be later than the one before, and above 0`},
		{"-windows 0s", `-windows 0s: each end must be later than the one before, and above 0`},
		{"-windows 1", `-windows 1: "1" is not a duration such as 10s`},
		{"-pods 0", `-pods 0: must be in 1..1000000`},
		{"-requests -1", `-requests -1: must be in 0..1000000`},
		{"-o curves.pdf", `-o curves.pdf: must end in .svg`},
		{"-o curves", `-o curves: must end in .svg`},
		{"-o curves.png", `-o curves.png: must end in .svg; a browser or rsvg-convert -z 2 curves.svg > curves.png makes a PNG`},
		{"-x", `flag provided but not defined: -x`},
		{"-o x.svg y", `"y" is not a flag`},
	} {
		var stdout, stderr bytes.Buffer
		code := crashcurve(strings.Fields(tt.args), &stdout, &stderr)
		want := "crashcurve: " + tt.want + "\nTry crashcurve -h.\n"
		if code != exitUsage || stdout.Len() > 0 || stderr.String() != want {
			t.Errorf("crashcurve %s: exit code %d, printed %q and\n%swant\n%s", tt.args, code, &stdout, &stderr, want)
		}
	}
}

func TestHelpOfCrashcurveFitsATerminal(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := crashcurve([]string{"-h"}, &stdout, &stderr)
	if code != exitOK || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "Usage: crashcurve") || !strings.Contains(stdout.String(), "-mix share") {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
}

// Unwritable output is an error, for the tables and the help.
func TestUnprintedTableIsAnError(t *testing.T) {
	for _, args := range [][]string{nil, {"-h"}, {"-mix", "0.5"}} {
		programtest.FullDisk(t, exitUnwritten, args...)
	}
}

// The printed path is absolute, so users find the picture even if the program ran in
// another folder, as with "go -C".
func TestPictureIsAnnouncedWithItsWholePath(t *testing.T) {
	p := programtest.New(t, "-o", "curves.svg")
	p.Dir = t.TempDir()
	p.Start()
	p.Done(exitOK)
	_, path, _ := strings.Cut(strings.TrimSpace(p.Err.String()), "crashcurve: wrote ")
	if picture, err := os.ReadFile(path); err != nil || !filepath.IsAbs(path) || !bytes.Contains(picture, []byte("</svg>")) {
		t.Errorf("says %q: %v", p.Err.String(), err)
	}
}

// A picture that cannot be written is no success.
func TestUnwritablePictureIsAnError(t *testing.T) {
	var stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "missing", "x.svg")
	if code := crashcurve([]string{"-o", file}, io.Discard, &stderr); code != exitUnwritten || !strings.Contains(stderr.String(), file) {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// The program as a user starts it, and the files it writes.
func TestPicturesHaveTheirFormatAndSize(t *testing.T) {
	folder := t.TempDir()
	draw := func(name string, args ...string) []byte {
		t.Helper()
		file := filepath.Join(folder, name)
		p := programtest.New(t, append(args, "-o", file)...)
		p.Start()
		p.Done(exitOK)
		picture, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return picture
	}

	all := draw("curves.svg")
	wellFormed(t, all)
	for _, text := range []string{"Restarts under a backoff", "kubelet (10s to 5m)", "kubelet-reduced (1s to 1m)", "1s maximum (always 1s)"} {
		if !bytes.Contains(all, []byte(">"+text+"<")) {
			t.Errorf("the picture lacks %q", text)
		}
	}
	if again := draw("again.svg"); !bytes.Equal(all, again) {
		t.Error("the same picture comes out differently")
	}

	wellFormed(t, draw("one.SVG", "-mix", "0.5"))

	// Values that may not fit on an axis.
	wellFormed(t, draw("odd.svg", "-policy", "<&>=1ms/1ms", "-policy", "1ms/5m,free=1000", "-policy", "1m/1m", "-until", "87600h", "-log", "xy"))
	wellFormed(t, draw("flat.svg", "-policy", "5m/5m", "-until", "1s"))
	wellFormed(t, draw("none.svg", "-policy", "1s/1s", "-mix", "0", "-pods", "1", "-run", "87600h", "-log", "xy"))
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("element %s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}
