package policyfile

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/document"
)

// Node are the fields that decide a node's curve, as the kubelet spells them and as
// KEP-4603 does, and a rate over all its containers. Embed it in a file.
type Node struct {
	APIVersion   string `json:"apiVersion"`
	Kind         string `json:"kind"`
	FeatureGates struct {
		Reduce    *bool `json:"ReduceDefaultCrashLoopBackOffDecay"`
		ReduceKEP *bool `json:"ReduceDefaultCrashLoopBackoffDecay"`
		Max       *bool `json:"KubeletCrashLoopBackOffMax"`
		MaxKEP    *bool `json:"EnableKubeletCrashLoopBackoffMax"`
	} `json:"featureGates"`
	CrashLoopBackOff struct {
		Max *document.Duration `json:"maxContainerRestartPeriod"`
	} `json:"crashLoopBackOff"`
	CrashLoopBackOffKEP struct {
		MaxSeconds *int32 `json:"maxSeconds"`
	} `json:"crashloopbackoff"`
	Rate  *float64 `json:"rate"`
	Burst *int32   `json:"burst"`
}

// kubeletConfiguration is the one kind of object that a file may be.
const kubeletConfiguration = "KubeletConfiguration"

// Settings are a node's.
type Settings struct {
	Config backoff.CrashLoopConfig
	Rate   float64           // restarts per second; 0: no ceiling
	Burst  int               // of them at once; 0: 1
	Called map[string]string // the settings of Config, as the user named them
}

// The names that package backoff uses for a node's settings in its notes; the keys of
// Settings.Called.
const (
	Reduce = "ReduceDefault"
	Max    = "Max"
	Gate   = "KubeletCrashLoopBackOffMax"
)

// Read returns the settings.
func (n *Node) Read(found *Findings) Settings {
	if n.Kind != "" && n.Kind != kubeletConfiguration {
		found.Add("kind", n.Kind, "must be "+kubeletConfiguration+", or not be there")
	}
	s := Settings{Config: backoff.CrashLoopConfig{AllowMax: true}, Called: make(map[string]string)} // AllowMax as in kubelets from 1.35 on
	for _, gate := range []struct {
		given, to     *bool
		setting, name string
	}{
		{n.FeatureGates.Reduce, &s.Config.ReduceDefault, Reduce, "featureGates.ReduceDefaultCrashLoopBackOffDecay"},
		{n.FeatureGates.ReduceKEP, &s.Config.ReduceDefault, Reduce, "featureGates.ReduceDefaultCrashLoopBackoffDecay"},
		{n.FeatureGates.MaxKEP, &s.Config.AllowMax, Gate, "EnableKubeletCrashLoopBackoffMax"},
		{n.FeatureGates.Max, &s.Config.AllowMax, Gate, "KubeletCrashLoopBackOffMax"},
	} {
		if gate.given != nil {
			*gate.to, s.Called[gate.setting] = *gate.given, gate.name
		}
	}
	const path, pathKEP = "crashLoopBackOff.maxContainerRestartPeriod", "crashloopbackoff.maxSeconds"
	limit, seconds, at := (*time.Duration)(n.CrashLoopBackOff.Max), n.CrashLoopBackOffKEP.MaxSeconds, path
	if seconds != nil {
		if limit != nil {
			found.Add(pathKEP, nil, "the maximum is given as "+path+" too")
		}
		d := time.Duration(*seconds) * time.Second
		limit, at = &d, pathKEP
	}
	s.Config.Max, s.Called[Max] = limit, at
	if limit != nil && s.Config.AllowMax && !InRange(*limit) {
		found.Add(at, *limit, "must be in [1s, 300s]")
	}
	if n.Rate != nil {
		if s.Rate = *n.Rate; !ValidRate(s.Rate) {
			found.Add("rate", s.Rate, "must be above 0")
		}
	}
	if n.Burst != nil {
		if s.Burst = int(*n.Burst); s.Burst < 1 {
			found.Add("burst", s.Burst, "must be at least 1")
		}
	}
	return s
}

// InRange reports whether a node's maximum may be d.
func InRange(d time.Duration) bool {
	_, err := backoff.CrashLoopConfig{AllowMax: true, Max: &d}.Resolve()
	return err == nil
}

// ValidRate reports whether r may be a rate.
func ValidRate(r float64) bool { return r > 0 && r <= math.MaxFloat64 } // NaN is not

var setting = regexp.MustCompile(`\b(` + Reduce + `|` + Max + `|` + Gate + `)\b`)

// Notes returns what led to a node's curve. They name each setting as called does:
// by its flag, or by its field in the file.
func Notes(resolution backoff.ResolvedConfig, called map[string]string) []string {
	var notes []string
	for _, note := range resolution.Notes {
		kind := "note"
		if note.Warning {
			kind = "warning"
		}
		text := fmt.Sprintf("%s: %s=%s: %s", kind, note.Field, note.Value, note.Reason)
		notes = append(notes, setting.ReplaceAllStringFunc(text, func(name string) string {
			return cmp.Or(called[name], name)
		}))
	}
	return notes
}
