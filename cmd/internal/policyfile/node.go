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

// Node holds the fields for a node's curve, as spelled by the kubelet and by KEP-4603,
// and a rate over all its containers. Embed it in a file's struct.
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

// kubeletConfiguration is the only kind accepted in a file.
const kubeletConfiguration = "KubeletConfiguration"

// Settings are a node's settings.
type Settings struct {
	Config backoff.CrashLoopConfig
	Rate   float64           // restarts per second; 0 means no ceiling
	Burst  int               // restarts allowed at once; 0 means 1
	Called map[string]string // Config's settings as the user wrote them
}

// Names of a node's settings in notes of package backoff, used as keys of
// Settings.Called.
const (
	Reduce = "ReduceDefault"
	Max    = "Max"
	Gate   = "KubeletCrashLoopBackOffMax"
)

// Read returns the settings and adds mistakes to found.
func (n *Node) Read(found *Findings) Settings {
	if n.Kind != "" && n.Kind != kubeletConfiguration {
		found.Add("kind", n.Kind, "must be "+kubeletConfiguration+" or absent")
	}
	s := Settings{Config: backoff.CrashLoopConfig{AllowMax: true}, Called: make(map[string]string)} // AllowMax as in kubelets since 1.35
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

// InRange reports whether d is a valid maximum of a node.
func InRange(d time.Duration) bool {
	_, err := backoff.CrashLoopConfig{AllowMax: true, Max: &d}.Resolve()
	return err == nil
}

// ValidRate reports whether r is a valid rate.
func ValidRate(r float64) bool { return r > 0 && r <= math.MaxFloat64 } // refuses NaN

var setting = regexp.MustCompile(`\b(` + Reduce + `|` + Max + `|` + Gate + `)\b`)

// Notes returns notes on the resolution of a node's curve. They name each setting as in
// called, by its flag or its field in the file.
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
