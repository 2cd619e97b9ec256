package testenv

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnknownVersionIsAnError(t *testing.T) {
	_, err := Start(t.Context(), Options{Version: "1.20"})
	if err == nil || !strings.Contains(err.Error(), `no Kubernetes "1.20", only 1.37 and 1.36`) {
		t.Error(err)
	}
}

func TestNodeSaysWhatItCannotSee(t *testing.T) {
	for path, ok := range map[string]bool{
		"/run/user/0":           false,
		"/var/lib/ci/.cache/no": false,
		"/var/library":          true,
		"/tmp/testenv-1/node":   true,
	} {
		if err := visible(path); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The pod network's plugin answers as containerd expects.
func TestPluginGivesAnAddress(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(plugin, []byte(cniPlugin), 0o700); err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[string]string{"ADD": `"ips"`, "VERSION": `"supportedVersions"`, "DEL": ""} {
		cmd := exec.CommandContext(t.Context(), plugin)
		cmd.Env = append(os.Environ(), "CNI_COMMAND="+verb, "CNI_CONTAINERID=0123abcd")
		cmd.Stdin = strings.NewReader(cniConfig)
		answer, err := cmd.Output()
		if err != nil || !strings.Contains(string(answer), want) || want != "" && !json.Valid(answer) {
			t.Errorf("%s: %q, %v", verb, answer, err)
		}
	}
}
