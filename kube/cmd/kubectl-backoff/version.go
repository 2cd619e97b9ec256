package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release and revision are set with -ldflags "-X main.release=v1.2.3 -X
// main.revision=abc" in releases.
var release, revision string

// version says how this program was built.
func version() string {
	v, r := release, revision
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				r = cmp.Or(r, s.Value)
			}
		}
	}
	return fmt.Sprintf("%s, revision %s, %s %s/%s", cmp.Or(v, "unknown"), cmp.Or(r, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
