package testenv

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// untar returns the files of an archive by name. The text of a link is its target.
func untar(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header.Linkname + string(text)
	}
}

func TestImagesHaveTheirNamesAndPrograms(t *testing.T) {
	images, err := busyboxImages([]byte("the program"), []string{"busybox", "sh", "sleep"}, []string{"other/busybox:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := archive(&file, images); err != nil {
		t.Fatal(err)
	}
	files := untar(t, file.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(files["manifest.json"]), &manifest); err != nil {
		t.Fatal(err)
	}
	var names [][]string
	for _, m := range manifest {
		names = append(names, m.RepoTags)
		var config struct {
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal([]byte(files[m.Config]), &config); err != nil {
			t.Fatal(err)
		}
		layer := files[m.Layers[0]]
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(layer))); len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != want {
			t.Errorf("%s has layers %v, want %s", m.RepoTags[0], config.RootFS.DiffIDs, want)
		}
		inside := untar(t, []byte(layer))
		if inside["bin/busybox"] != "the program" || inside["bin/sh"] != "busybox" || inside["bin/sleep"] != "busybox" || inside["pause"] != pauseScript {
			t.Errorf("%s contains %q", m.RepoTags[0], inside)
		}
	}
	if diff := cmp.Diff([][]string{{Busybox, "other/busybox:1"}, {Pause}}, names); diff != "" {
		t.Error(diff)
	}
}
