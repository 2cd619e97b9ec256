package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// This test's own program has the modules of the tests of this module, and Go.
func TestBillOfThisProgram(t *testing.T) {
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := billOf(t, info)
	if b.Format != "CycloneDX" || b.Spec != "1.6" || b.Version != 1 {
		t.Errorf("%+v", b)
	}
	if len(b.Components) != 1+len(info.Deps) || len(b.Dependencies[0].On) != len(b.Components) {
		t.Errorf("%d components, %d modules", len(b.Components), len(info.Deps))
	}
	if want := "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"); b.Components[0].URL != want {
		t.Errorf("%+v, want %s", b.Components[0], want)
	}
}

func TestModulesOfABill(t *testing.T) {
	b := billOf(t, &debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.com/a/cmd/a", Main: debug.Module{Path: "example.com/a", Version: "v1.2.0+dirty"},
		Deps: []*debug.Module{
			{Path: "example.com/b", Version: "v1.0.0", Sum: "h1:b="},
			{Path: "example.com/c", Version: "v0.0.0", Replace: &debug.Module{Path: "../c", Version: "(devel)"}},
			{Path: "example.com/d", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/e", Version: "v1.1.0", Sum: "h1:e="}},
		},
	})
	var got []string
	for _, c := range append([]component{b.Metadata.Component}, b.Components...) {
		var line strings.Builder
		line.WriteString(c.Type + " " + c.URL)
		for _, p := range c.Properties {
			line.WriteString(" " + p.Value)
		}
		got = append(got, line.String())
	}
	want := `application pkg:golang/example.com/a/cmd/a@v1.2.0%2Bdirty
library pkg:golang/stdlib@1.26.8
library pkg:golang/example.com/b@v1.0.0 h1:b=
library pkg:golang/example.com/c@v1.2.0%2Bdirty
library pkg:golang/example.com/e@v1.1.0 h1:e=`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func billOf(t *testing.T, info *debug.BuildInfo) (b bom) {
	t.Helper()
	var text bytes.Buffer
	if err := write(&text, info); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	return b
}
