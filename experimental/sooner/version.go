package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set with -ldflags "-X main.version=v1.2.3" in builds without the
// repository, as in the Dockerfile.
var version string

// thisVersion returns the version, or else the one in Go's build information.
func thisVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
	}
	return fmt.Sprintf("sooner %s, %s %s/%s", cmp.Or(v, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
