package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and revision are set with -ldflags "-X main.version=v1.2.3 -X
// main.revision=abc" in releases.
var version, revision string

// version prints how this program was built.
func (p *program) version() (int, error) {
	if len(p.o.args) > 0 {
		return 0, usagef("version takes no arguments")
	}
	v, r := version, revision
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				r = cmp.Or(r, s.Value)
			}
		}
	}
	_, err := fmt.Fprintf(p.stdout, "kubectl-restart %s, revision %s, %s %s/%s\n", cmp.Or(v, "unknown"), cmp.Or(r, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK, err
}
