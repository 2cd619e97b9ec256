package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// errNoConfig says that a runtime keeps the configuration of its containers to itself.
var errNoConfig = errors.New("the runtime does not tell its configuration (containerd does)")

// A verboseInfo is what containerd tells of a container or sandbox in the verbose info
// of its status: a JSON text with the whole request that made it, under the names of
// the protocol's fields. The CRI leaves it to each runtime what it tells.
type verboseInfo struct {
	Config      map[string]json.RawMessage `json:"config"`
	RuntimeSpec struct {
		Process struct {
			Env []string `json:"env"`
		} `json:"process"`
	} `json:"runtimeSpec"`
}

// configOf stores in config what a container or a sandbox was created from.
func configOf(info map[string]string, config any) (verboseInfo, error) {
	var known verboseInfo
	if text, ok := info["info"]; ok {
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return known, fmt.Errorf("its verbose info: %w", err)
		}
	}
	if known.Config == nil {
		return known, errNoConfig
	}
	rest := maps.Clone(known.Config)
	delete(rest, "envs")
	text, err := json.Marshal(rest)
	if err == nil {
		err = json.Unmarshal(text, config)
	}
	if err != nil {
		return known, fmt.Errorf("its configuration: %w", err)
	}
	return known, nil
}

// containerConfigOf returns what a container was created from.
func containerConfigOf(info map[string]string) (*cri.ContainerConfig, error) {
	var config cri.ContainerConfig
	known, err := configOf(info, &config)
	if err != nil {
		return nil, err
	}
	if config.GetMetadata().GetName() == "" {
		return nil, fmt.Errorf("its configuration has no name: %w", errNoConfig)
	}
	config.Envs, err = known.envs()
	return &config, err
}

// envs returns the variables. In the CRI of Kubernetes 1.34 a value is text, and later
// it is bytes, which JSON has in base64. What the container was run with says which.
func (v verboseInfo) envs() ([]*cri.KeyValue, error) {
	var told []struct{ Key, Value string }
	if text, ok := v.Config["envs"]; ok {
		if err := json.Unmarshal(text, &told); err != nil {
			return nil, fmt.Errorf("its configuration: envs: %w", err)
		}
	}
	var envs []*cri.KeyValue
	for i, e := range told {
		if slices.ContainsFunc(told[i+1:], func(later struct{ Key, Value string }) bool { return later.Key == e.Key }) {
			continue // the last one of a name counts
		}
		value := []byte(e.Value)
		if !slices.Contains(v.RuntimeSpec.Process.Env, e.Key+"="+e.Value) {
			var err error
			if value, err = base64.StdEncoding.DecodeString(e.Value); err != nil || !slices.Contains(v.RuntimeSpec.Process.Env, e.Key+"="+string(value)) {
				return nil, fmt.Errorf("variable %s is another than it was run with: %w", e.Key, errNoConfig)
			}
		}
		envs = append(envs, &cri.KeyValue{Key: e.Key, Value: value})
	}
	return envs, nil
}

// restartCount is where a kubelet notes the attempt in a container's annotations.
const restartCount = "io.kubernetes.container.restartCount"

// nextConfig returns the configuration of the attempt after the one of old: the same,
// but for the attempt in its metadata, in the name of its log and in the kubelet's
// annotation.
func nextConfig(old *cri.ContainerConfig) *cri.ContainerConfig {
	next := proto.Clone(old).(*cri.ContainerConfig)
	was := fmt.Sprint(old.GetMetadata().GetAttempt())
	next.Metadata.Attempt++
	is := fmt.Sprint(next.Metadata.Attempt)
	if folder, file := path.Split(old.LogPath); file == was+".log" {
		next.LogPath = folder + is + ".log"
	}
	if next.Annotations[restartCount] == was {
		next.Annotations = maps.Clone(next.Annotations)
		next.Annotations[restartCount] = is
	}
	return next
}
