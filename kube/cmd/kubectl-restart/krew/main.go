// Command krew builds the archives of a release of kubectl-restart and the manifest with
// which krew installs them. Run it in the module kube:
//
//	go run ./cmd/kubectl-restart/krew -version v0.3.0 -o /tmp/release
//
// The folder then has one archive for each platform of restart.yaml, and a restart.yaml
// with their addresses and checksums. The same source makes the same archives.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed restart.yaml
var manifest string

// The version, and the checksum, of no release.
const noVersion = "v0.0.0"

var noSum = strings.Repeat("0", sha256.Size*2)

var validVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func main() {
	version := flag.String("version", "", "version of the release, such as v0.3.0")
	folder := flag.String("o", "", "folder for the archives and the manifest")
	flag.Parse()
	if err := release(*version, *folder, build); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

// plugin is the part of a manifest that this program reads.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector struct {
		MatchLabels struct {
			OS   string `json:"os"`
			Arch string `json:"arch"`
		} `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	Sha256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

func parse(text string) (p plugin, err error) {
	err = yaml.UnmarshalStrict([]byte(text), &p)
	return p, err
}

// release writes the archives and the manifest of a version. build returns a program
// for a platform, and the licence.
func release(version, folder string, build func(version string, p platform) (program, licence []byte, err error)) error {
	if !validVersion.MatchString(version) || version == noVersion {
		return fmt.Errorf("-version %q: must have the form v1.2.3", version)
	}
	if folder == "" {
		return fmt.Errorf("-o is missing")
	}
	text := strings.ReplaceAll(manifest, noVersion, version)
	_, begin, found := strings.Cut(text, "\napiVersion:")
	if !found {
		return fmt.Errorf("restart.yaml has no apiVersion")
	}
	text = "apiVersion:" + begin // the comment is about the template
	p, err := parse(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, x := range p.Spec.Platforms {
		program, licence, err := build(version, x)
		if err != nil {
			return err
		}
		archive, err := pack([]file{{x.Bin, 0o755, program}, {"LICENSE", 0o644, licence}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, path.Base(x.URI)), archive, 0o644); err != nil {
			return err
		}
		text = strings.Replace(text, noSum, fmt.Sprintf("%x", sha256.Sum256(archive)), 1) // the platforms are in order
	}
	return os.WriteFile(filepath.Join(folder, "restart.yaml"), []byte(text), 0o644)
}

// build compiles the program for a platform.
func build(version string, p platform) (program, licence []byte, err error) {
	if licence, err = os.ReadFile("../LICENSE"); err != nil {
		return nil, nil, fmt.Errorf("run this program in the module kube: %w", err)
	}
	folder, err := os.MkdirTemp("", "kubectl-restart-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	out := filepath.Join(folder, p.Bin)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version="+version, "-o", out, "./cmd/kubectl-restart")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.Selector.MatchLabels.OS, "GOARCH="+p.Selector.MatchLabels.Arch)
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w\n%s", p.URI, err, output)
	}
	program, err = os.ReadFile(out)
	return program, licence, err
}

type file struct {
	name string
	mode int64
	text []byte
}

// pack returns a gzipped tar archive of the files, without times.
func pack(files []file) ([]byte, error) {
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	t := tar.NewWriter(z)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
