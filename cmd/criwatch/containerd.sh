#!/usr/bin/env bash
# Runs a separate containerd to try criwatch on, built from source through the Go
# module proxy, with its own root, state, socket and cgroup parent. It needs no
# Docker, image registry or CNI, because pods use the host's network and a busybox
# image made here. It needs root, Go, and Debian's runc and busybox-static, which it
# installs if they are missing.
#
#   containerd.sh up       build if need be, start unless it runs, print the socket
#   containerd.sh kill     kill containerd with -9; its containers go on
#   containerd.sh down     remove all processes, mounts, cgroups and files but the build
#   containerd.sh all [COMMAND…]   up, run COMMAND (the integration tests) with
#                          CRI_SOCKET, CRI_IMAGE, CRI_CGROUP and CRI_CONTROL, down
#
# CRI_HOME is its folder (/var/tmp/criwatch). XDG_CACHE_HOME/criwatch holds the
# build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=v2.1.4
home=${CRI_HOME:-/var/tmp/criwatch}
bin=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/criwatch/containerd-$version-$(uname -m)
socket=$home/containerd.sock
image=localhost/criwatch/busybox:latest
cgroup=/criwatch-$(cksum <<<"$home" | cut -d' ' -f1)
shim_sockets=/run/containerd/s # the same for every containerd, not to be set

say() { echo "containerd.sh: $*" >&2; }
fail() { say "$*"; exit 1; }

install_missing() {
	local missing=()
	command -v runc >/dev/null || missing+=(runc)
	if [ ! -x /bin/busybox ] || ldd /bin/busybox >/dev/null 2>&1; then missing+=(busybox-static); fi
	[ ${#missing[@]} = 0 ] && return
	say "installing ${missing[*]}"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >&2 ||
		fail "cannot install ${missing[*]}: install them and try again"
}

build() {
	[ -x "$bin/containerd" ] && return
	command -v go >/dev/null || fail "go is not in PATH: it builds containerd"
	say "building containerd $version; it takes minutes, once"
	mkdir -p "$(dirname "$bin")"
	rm -rf "$bin".* # of builds that were killed
	local made
	made=$(mktemp -d "$bin.XXXXXX")
	GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0 nice -n 19 go -C "$here/containerd" build -p "${BUILD_JOBS:-1}" -trimpath -ldflags '-s -w' \
		-tags 'no_btrfs no_devmapper no_zfs' -o "$made/" \
		github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr} || { rm -rf "$made"; fail "cannot build containerd"; }
	rm -rf "$bin"
	mv "$made" "$bin"
}

# snapshotter prints overlayfs where the kernel can stack one on $home, else native.
snapshotter() {
	local try=$home/try kind=native
	umount "$try/merged" 2>/dev/null || true # of an up that was killed here
	mkdir -p "$try"/{lower,upper,work,merged}
	if mount -t overlay -o "lowerdir=$try/lower,upperdir=$try/upper,workdir=$try/work" overlay "$try/merged" 2>/dev/null; then
		umount "$try/merged"
		kind=overlayfs
	fi
	rm -rf "$try"
	echo $kind
}

configure() {
	cat >"$home/config.toml" <<-END
		version = 3
		root = '$home/root'
		state = '$home/state'
		temp = '$home/tmp'
		disabled_plugins = ['io.containerd.nri.v1.nri']
		[grpc]
		address = '$socket'
		[plugins.'io.containerd.internal.v1.opt']
		path = '$home/opt'
		[plugins.'io.containerd.image-verifier.v1.bindir']
		bin_dir = '$home/opt/verifiers'
		[plugins.'io.containerd.cri.v1.images']
		snapshotter = '$(snapshotter)'
		[plugins.'io.containerd.cri.v1.images'.pinned_images]
		sandbox = '$image'
		[plugins.'io.containerd.cri.v1.runtime']
		restrict_oom_score_adj = true
		disable_apparmor = true
		[plugins.'io.containerd.cri.v1.runtime'.cni]
		bin_dirs = ['$home/cni/bin']
		conf_dir = '$home/cni/conf'
		[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
		runtime_type = 'io.containerd.runc.v2'
		runtime_path = '$bin/containerd-shim-runc-v2'
		[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
		BinaryName = '$(command -v runc)'
		Root = '$home/runc'
		SystemdCgroup = false
	END
}

# archive writes busybox as an image of one layer, in the form of docker save.
archive() { # FILE
	local made=$home/image layer
	mkdir -p "$made"/rootfs/{bin,dev,etc,proc,sys,tmp}
	cp /bin/busybox "$made/rootfs/bin/"
	for applet in sh sleep true false echo cat; do ln -sf busybox "$made/rootfs/bin/$applet"; done
	tar -C "$made/rootfs" -cf "$made/layer.tar" .
	layer=$(sha256sum <"$made/layer.tar" | cut -d' ' -f1)
	cat >"$made/config.json" <<-END
		{"architecture": "$(go env GOARCH)", "os": "linux",
		 "config": {"Entrypoint": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin"]},
		 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
	END
	echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$image\"], \"Layers\": [\"layer.tar\"]}]" >"$made/manifest.json"
	tar -C "$made" -cf "$1" manifest.json config.json layer.tar
	rm -rf "$made"
}

ctr() { "$bin/ctr" --address "$socket" --namespace k8s.io "$@"; }

processes() { # PROGRAM ARGUMENT: prints the ids of those that run it with that argument
	local exe
	for exe in $(find /proc/[0-9]*/exe -lname "$1" 2>/dev/null); do
		if tr '\0' '\n' <"${exe%/exe}/cmdline" | grep -qxF -e "$2"; then exe=${exe%/exe} && echo "${exe#/proc/}"; fi
	done 2>/dev/null
}

daemon() { processes "$bin/containerd" "$home/config.toml"; }
shims() { processes "$bin/containerd-shim-runc-v2" "$socket"; }

up() {
	install_missing
	build
	mkdir -p "$home"/tmp
	local pid tries=300
	pid=$(daemon)
	if [ -z "$pid" ]; then
		configure
		rm -f "$socket"
		PATH=$bin:$PATH setsid "$bin/containerd" --config "$home/config.toml" </dev/null >>"$home/log" 2>&1 &
		pid=$!
	fi
	until ctr version >/dev/null 2>&1; do
		[ $((tries -= 1)) -gt 0 ] && kill -0 "$pid" || { tail -5 "$home/log" >&2; fail "containerd does not come up: see $home/log"; }
		sleep 0.1
	done
	if [ -z "$(ctr images ls -q "name==$image")" ]; then
		archive "$home/image.tar"
		ctr images import "$home/image.tar" >/dev/null
		rm "$home/image.tar"
	fi
	echo "unix://$socket"
}

kill_daemon() {
	local pid
	pid=$(daemon)
	[ -n "$pid" ] || return 0
	kill -9 "$pid"
	while [ -n "$(daemon)" ]; do sleep 0.01; done
}

mounts() { # prints those below $home, innermost first
	awk -v home="$home/" 'index($5, home) == 1 {print $5}' /proc/self/mountinfo | sort -r
}

cgroups() { # prints those of our parent, innermost first
	local top
	for top in /sys/fs/cgroup$cgroup /sys/fs/cgroup/*$cgroup; do
		if [ -d "$top" ]; then find "$top" -depth -type d; fi
	done
}

down() {
	local id path left tries=100
	kill_daemon
	for id in $(runc --root "$home/runc/k8s.io" list -q 2>/dev/null); do
		runc --root "$home/runc/k8s.io" delete --force "$id" || true
	done
	for id in $(shims); do kill -9 "$id" 2>/dev/null || true; done
	for path in $(mounts); do umount -l "$path"; done
	while [ -n "$(cgroups)" ] && [ $((tries -= 1)) -gt 0 ]; do # what is killed leaves its cgroup a moment later
		for path in $(cgroups); do
			for id in $(cat "$path/cgroup.procs"); do kill -9 "$id" 2>/dev/null || true; done
			rmdir "$path" 2>/dev/null || true
		done
		[ -z "$(cgroups)" ] || sleep 0.1
	done
	left=$(daemon; shims; mounts; cgroups)
	[ -z "$left" ] || fail "left behind:" $left
	grep -ohs "$shim_sockets/[0-9a-f]*" "$home/log" "$home"/state/io.containerd.runtime.v2.task/*/*/bootstrap.json | sort -u | xargs -r rm -f || true
	rmdir "$shim_sockets" "${shim_sockets%/s}" 2>/dev/null || true # another containerd's, unless they are empty
	rm -rf "$home"
}

all() {
	trap down EXIT
	CRI_SOCKET=$(up)
	export CRI_SOCKET CRI_IMAGE=$image CRI_CGROUP=$cgroup CRI_CONTROL=$here/containerd.sh
	if [ $# -gt 0 ]; then "$@"; else go -C "$here/.." test ./criwatch -count=1 -timeout 20m -v -run Integration; fi
}

[ "$(id -u)" = 0 ] || fail "needs root"
case ${1:-} in
up) up ;;
kill) kill_daemon ;;
down) down ;;
all) shift && all "$@" ;;
*) sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
