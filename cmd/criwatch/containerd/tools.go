//go:build tools

// Package containerd pins the programs that containerd.sh builds. They cannot be
// installed by name because containerd's go.mod has exclude directives.
package containerd

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
)
