package testenv

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"runtime"
	"strings"
)

// The names of a node's images. Each has further names by Options.
const (
	Busybox = "localhost/testenv/busybox:1" // all applets of Debian's busybox-static; runs sh
	Pause   = "localhost/testenv/pause:1"   // waits for SIGTERM or SIGINT, for the sandboxes of pods
)

// An image is a file system of one layer with a configuration.
type image struct {
	names  []string
	config map[string]any // "Cmd" and the like
	layer  []byte         // tar
}

// pauseScript waits. A trap runs when wait returns, so the shell waits for a sleep in
// the background. As the first process of a pod, the shell reaps orphans.
const pauseScript = `#!/bin/sh
trap 'exit 0' INT TERM
while :; do
	sleep 2147483647 &
	wait $!
done
`

// busyboxImages returns the images made of a static busybox.
func busyboxImages(busybox []byte, applets []string, busyboxNames, pauseNames []string) ([]image, error) {
	layer, err := layerOf(busybox, applets)
	if err != nil {
		return nil, err
	}
	return []image{
		{append([]string{Busybox}, busyboxNames...), map[string]any{"Cmd": []string{"sh"}}, layer},
		{append([]string{Pause}, pauseNames...), map[string]any{"Entrypoint": []string{"/pause"}}, layer},
	}, nil
}

func layerOf(busybox []byte, applets []string) ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	add := func(h tar.Header, text string) error {
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := io.WriteString(w, text)
		return err
	}
	for _, name := range []string{"bin", "dev", "etc", "proc", "root", "sys", "tmp", "usr", "usr/bin", "var", "var/run"} {
		mode := int64(0o755)
		if name == "tmp" {
			mode = 0o1777
		}
		if err := add(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}, ""); err != nil {
			return nil, err
		}
	}
	files := []struct{ name, text string }{
		{"bin/busybox", string(busybox)},
		{"pause", pauseScript},
	}
	for _, f := range files {
		if err := add(tar.Header{Name: f.name, Mode: 0o755}, f.text); err != nil {
			return nil, err
		}
	}
	if err := add(tar.Header{Name: "etc/passwd", Mode: 0o644}, "root:x:0:0:root:/root:/bin/sh\n"); err != nil {
		return nil, err
	}
	for _, applet := range applets {
		if applet == "busybox" {
			continue
		}
		if err := add(tar.Header{Typeflag: tar.TypeSymlink, Name: path.Join("bin", applet), Linkname: "busybox", Mode: 0o777}, ""); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

// busyboxApplets asks the program for the names under which it can be called.
func busyboxApplets(ctx context.Context, busybox string) ([]string, error) {
	list, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", busybox, err)
	}
	return strings.Fields(string(list)), nil
}

// archive writes images in the format of docker save.
func archive(to io.Writer, images []image) error {
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	w := tar.NewWriter(to)
	add := func(name string, text []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		_, err := w.Write(text)
		return err
	}
	var manifest []entry
	for i, image := range images {
		id := fmt.Sprintf("sha256:%x", sha256.Sum256(image.layer))
		image.config["Env"] = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
		config, err := json.Marshal(map[string]any{
			"architecture": runtime.GOARCH,
			"os":           "linux",
			"config":       image.config,
			"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{id}},
		})
		if err != nil {
			return err
		}
		e := entry{fmt.Sprintf("%d.json", i), image.names, []string{fmt.Sprintf("%d.tar", i)}}
		manifest = append(manifest, e)
		if err := add(e.Config, config); err != nil {
			return err
		}
		if err := add(e.Layers[0], image.layer); err != nil {
			return err
		}
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := add("manifest.json", text); err != nil {
		return err
	}
	return w.Close()
}
