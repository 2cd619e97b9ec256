package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// version and revision are set with -ldflags "-X main.version=v1.2.3 -X
// main.revision=abc" in builds without the repository.
var version, revision string

// build describes how this program was built.
type build struct{ version, revision, goVersion, platform string }

// thisBuild fills in unset values from Go's build information.
func thisBuild() build {
	b := build{version, revision, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.version = cmp.Or(b.version, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.revision = cmp.Or(b.revision, s.Value)
			}
		}
	}
	b.version, b.revision = cmp.Or(b.version, "unknown"), cmp.Or(b.revision, "unknown")
	return b
}

func (b build) String() string {
	return fmt.Sprintf("sooner %s, revision %s, %s %s", b.version, b.revision, b.goVersion, b.platform)
}

// metric returns a gauge of 1 with the build as its labels.
func (b build) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sooner_build_info",
		Help: "1, with the version, the commit and the Go version of this program as labels.",
		ConstLabels: prometheus.Labels{
			"version": b.version, "revision": b.revision, "go_version": b.goVersion, "platform": b.platform,
		},
	}, func() float64 { return 1 })
}
