package testenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
)

// containerdConfig returns containerd's configuration. All its paths but that of the
// shims' sockets are in the node's folder.
func (c *Containerd) containerdConfig() string {
	snapshotter := "native"
	if c.namespace.overlay {
		snapshotter = "overlayfs"
	}
	in := func(name string) string { return filepath.Join(c.folder, name) }
	var text strings.Builder
	table := func(name string, lines ...any) {
		if name != "" {
			fmt.Fprintf(&text, "[%s]\n", name)
		}
		for i := 0; i < len(lines); i += 2 {
			value, err := json.Marshal(lines[i+1]) // TOML has JSON's strings, booleans and arrays
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&text, "%s = %s\n", lines[i], value)
		}
	}
	const runtime = "plugins.'io.containerd.cri.v1.runtime'"
	table("",
		"version", 3, "root", in("containerd"), "state", in("containerd-state"), "temp", in("tmp"),
		"disabled_plugins", []string{"io.containerd.nri.v1.nri"})
	table("grpc", "address", c.socket())
	table("plugins.'io.containerd.internal.v1.opt'", "path", in("opt"))
	table("plugins.'io.containerd.image-verifier.v1.bindir'", "bin_dir", in("opt/verifiers"))
	table("plugins.'io.containerd.cri.v1.images'", "snapshotter", snapshotter)
	table("plugins.'io.containerd.cri.v1.images'.pinned_images", "sandbox", Pause)
	table(runtime,
		"disable_apparmor", true, "enable_cdi", false, "netns_mounts_under_state_dir", true,
		"restrict_oom_score_adj", true) // a container or service may not lower its own
	table(runtime+".cni",
		"bin_dirs", []string{in("cni/bin")}, "conf_dir", in("cni"), "use_internal_loopback", true)
	table(runtime+".containerd.runtimes.runc",
		"runtime_type", "io.containerd.runc.v2", "runtime_path", c.programs.Shim)
	table(runtime+".containerd.runtimes.runc.options",
		"BinaryName", c.programs.Runc, "Root", in("runc"), "SystemdCgroup", false)
	return text.String()
}

// The network of a pod is its own loopback. The kubelet insists on an address for each
// pod and a plugin for containerd, so this one invents addresses that lead nowhere. It
// derives them from the id of the sandbox.
const cniPlugin = `#!/bin/sh
config=$(cat)
case $CNI_COMMAND in
VERSION)
	echo '{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}'
	;;
ADD)
	set -- $(printf %s "$CNI_CONTAINERID" | cksum)
	echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.'$(($1 >> 16 & 255)).$(($1 >> 8 & 255)).$(($1 & 255))'/32"}]}'
	;;
esac
`

const cniConfig = `{"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "none"}]}
`

// kubeletConfig returns the KubeletConfiguration, as JSON, with the caller's fields.
func (n *Node) kubeletConfig() ([]byte, error) {
	never := map[string]string{} // evict pods; 0 is not valid
	for _, signal := range []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"} {
		never[signal] = "0%"
	}
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":                  "127.0.0.1",
		"port":                     n.port,
		"healthzPort":              0,
		"tlsCertFile":              n.identity.certificateFile,
		"tlsPrivateKeyFile":        n.identity.keyFile,
		"containerRuntimeEndpoint": n.CRISocket(),
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": false},
			"x509":      map[string]any{"clientCAFile": n.identity.certificateFile},
		},
		"authorization": map[string]any{"mode": "AlwaysAllow"},

		"staticPodPath":   n.Manifests(),
		"podLogsDir":      filepath.Join(n.folder, "pod-logs"),
		"volumePluginDir": filepath.Join(n.folder, "volume-plugins"),

		"cgroupDriver":                  "cgroupfs",
		"cgroupRoot":                    n.cgroup.root(),
		"failCgroupV1":                  false,
		"failSwapOn":                    false,
		"localStorageCapacityIsolation": false,
		"makeIPTablesUtilChains":        false,
		"evictionHard":                  never,
		"imageGCHighThresholdPercent":   100,
		"resolvConf":                    "",
		"clusterDomain":                 "cluster.local",
		"featureGates":                  n.options.FeatureGates,
	}
	maps.Copy(config, n.options.Kubelet)
	return json.Marshal(config)
}
