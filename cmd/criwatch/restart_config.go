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

// errNoConfig means that the runtime does not reveal the configuration of its
// containers.
var errNoConfig = errors.New("the runtime does not return the configuration (containerd does)")

// A verboseInfo is containerd's verbose info of a container or sandbox. It is a JSON
// text with the whole request that created it, under the protocol's field names. The
// CRI leaves the content to each runtime.
type verboseInfo struct {
	Config      map[string]json.RawMessage `json:"config"`
	RuntimeSpec struct {
		Process struct {
			Env []string `json:"env"`
		} `json:"process"`
	} `json:"runtimeSpec"`
}

// configOf decodes the configuration of a container or sandbox into config.
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

// containerConfigOf returns the configuration of a container.
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

// envs returns the variables. Their values are text in the CRI of Kubernetes 1.34 and
// bytes in later ones, which JSON encodes in base64. The variables of the process tell
// them apart.
func (v verboseInfo) envs() ([]*cri.KeyValue, error) {
	var entries []struct{ Key, Value string }
	if text, ok := v.Config["envs"]; ok {
		if err := json.Unmarshal(text, &entries); err != nil {
			return nil, fmt.Errorf("its configuration: envs: %w", err)
		}
	}
	var envs []*cri.KeyValue
	for i, e := range entries {
		if slices.ContainsFunc(entries[i+1:], func(later struct{ Key, Value string }) bool { return later.Key == e.Key }) {
			continue // the last one of a name counts
		}
		value := []byte(e.Value)
		if !slices.Contains(v.RuntimeSpec.Process.Env, e.Key+"="+e.Value) {
			var err error
			if value, err = base64.StdEncoding.DecodeString(e.Value); err != nil || !slices.Contains(v.RuntimeSpec.Process.Env, e.Key+"="+string(value)) {
				return nil, fmt.Errorf("variable %s differs from the container's: %w", e.Key, errNoConfig)
			}
		}
		envs = append(envs, &cri.KeyValue{Key: e.Key, Value: value})
	}
	return envs, nil
}

// restartCount is the annotation in which a kubelet records a container's attempt.
const restartCount = "io.kubernetes.container.restartCount"

// nextConfig returns the configuration of the attempt after old. It differs only in the
// attempt, which is part of the metadata, the name of the log and the kubelet's
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
