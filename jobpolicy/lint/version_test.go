package lint_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

const everyFeature = `{"completionMode":"Indexed","completions":4,"backoffLimitPerIndex":1,"maxFailedIndexes":2,"managedBy":"example.com/x",
	"successPolicy":{"rules":[{"succeededCount":3}]},"scheduling":{"schedulingPolicy":{"gang":{}}},
	"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]},{"name":"bug","action":"FailIndex","onExitCodes":{"operator":"In","values":[3]}}]},
	"template":{"spec":{"restartPolicy":"Never","initContainers":[{"name":"s","restartPolicy":"Always"},{"name":"i","restartPolicy":"OnFailure"}],
	"containers":[{"name":"a"},{"name":"b","restartPolicy":"Never","restartPolicyRules":[{"action":"Restart"}]},{"name":"c","restartPolicyRules":[{"action":"RestartAllContainers"}]}]}}}`

func specOf(t *testing.T, text string) *batch.JobSpec {
	t.Helper()
	s := &batch.JobSpec{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Each version drops unknown fields and those behind a disabled gate. Later versions
// drop fewer.
func TestCheckForFindsUnsupportedFields(t *testing.T) {
	s := specOf(t, everyFeature)
	fields := func(minor int) (dropped []string) {
		found, err := lint.CheckFor(s, fmt.Sprintf("v1.%d.3", minor))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Kind == lint.KindVersion {
				dropped = append(dropped, f.Field)
			}
		}
		return dropped
	}
	const (
		policy, disruption = "spec.podFailurePolicy", "spec.podFailurePolicy.rules[0].onPodConditions"
		limit, most        = "spec.backoffLimitPerIndex", "spec.maxFailedIndexes"
		failIndex, name    = "spec.podFailurePolicy.rules[1].action", "spec.podFailurePolicy.rules[1].name"
		success, managed   = "spec.successPolicy", "spec.managedBy"
		sidecar, ownInit   = "spec.template.spec.initContainers[0].restartPolicy", "spec.template.spec.initContainers[1].restartPolicy"
		own, rules, all    = "spec.template.spec.containers[1].restartPolicy", "spec.template.spec.containers[1].restartPolicyRules", "spec.template.spec.containers[2].restartPolicyRules"
		scheduling         = "spec.scheduling"
	)
	for minor, want := range map[int][]string{
		25: {policy, disruption, limit, most, failIndex, success, managed, sidecar, ownInit, own, rules, all, scheduling, name},
		26: {limit, most, failIndex, success, managed, sidecar, ownInit, own, rules, all, scheduling, name},
		28: {limit, most, failIndex, success, managed, sidecar, ownInit, own, rules, all, scheduling, name},
		29: {success, managed, ownInit, own, rules, all, scheduling, name},
		30: {success, managed, ownInit, own, rules, all, scheduling, name},
		31: {managed, ownInit, own, rules, all, scheduling, name},
		32: {ownInit, own, rules, all, scheduling, name},
		34: {ownInit, own, rules, all, scheduling, name},
		35: {all, scheduling, name},
		36: {scheduling, name},
		37: {scheduling, name},
		38: {scheduling, name},
	} {
		if got := fields(minor); !slices.Equal(got, want) {
			t.Errorf("1.%d drops %v, want %v", minor, got, want)
		}
	}
	for minor := lint.Oldest; minor < lint.Newest; minor++ {
		for _, field := range fields(minor + 1) {
			if !slices.Contains(fields(minor), field) {
				t.Errorf("1.%d drops %s, 1.%d does not", minor+1, field, minor)
			}
		}
	}
	replacement := specOf(t, `{"podReplacementPolicy":"Failed","template":{"spec":{"restartPolicy":"Never"}}}`)
	for minor, want := range map[int]bool{27: true, 28: true, 29: false, 38: false} {
		found, err := lint.CheckFor(replacement, fmt.Sprint("1.", minor))
		if err != nil || (len(found) == 1 && found[0].Field == "spec.podReplacementPolicy") != want {
			t.Errorf("1.%d: %v, %v", minor, found, err)
		}
	}
}

// A version refuses a known field of a container with a value or in a place that it
// does not support yet.
func TestCheckForTellsRefusedFromDropped(t *testing.T) {
	const lacks, drops, refuses, unless, fine = "does not have the field and drops it", "drops it unless the feature gate", "refuses the Job for it", "refuses the Job for it unless the feature gate", ""
	const noValue = "does not know the value and drops the field"
	type until struct {
		to   int // minor version
		says string
	}
	for field, want := range map[string][]until{
		"containers[1].restartPolicy":      {{27, lacks}, {33, refuses}, {34, drops + " ContainerRestartRules"}, {38, fine}},
		"initContainers[0].restartPolicy":  {{27, lacks}, {28, drops + " SidecarContainers"}, {38, fine}},
		"initContainers[1].restartPolicy":  {{28, noValue}, {33, refuses}, {34, drops + " ContainerRestartRules"}, {38, fine}},
		"containers[1].restartPolicyRules": {{33, lacks}, {34, drops + " ContainerRestartRules"}, {38, fine}},
		"containers[2].restartPolicyRules": {{34, noValue}, {35, unless + " RestartAllContainersOnContainerExits"}, {38, fine}},
		"rules[1].action":                  {{25, noValue}, {27, refuses}, {28, drops + " JobBackoffLimitPerIndex"}, {38, fine}},
	} {
		for minor := lint.Oldest; minor <= lint.Newest; minor++ {
			found, err := lint.CheckFor(specOf(t, everyFeature), fmt.Sprint("1.", minor))
			if err != nil {
				t.Fatal(err)
			}
			says := want[slices.IndexFunc(want, func(r until) bool { return minor <= r.to })].says
			i := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Kind == lint.KindVersion && strings.HasSuffix(f.Field, field) })
			severity := lint.SeverityWarning
			if says == refuses || strings.HasPrefix(says, unless) {
				severity = lint.SeverityError
			}
			if says == fine != (i < 0) || i >= 0 && (!strings.HasPrefix(found[i].Text, fmt.Sprintf("Kubernetes 1.%d %s", minor, says)) ||
				found[i].Severity != severity || says == refuses && strings.Contains(found[i].Text, unless)) {
				t.Errorf("%s in 1.%d: %v, want %q", field, minor, found[max(i, 0)], says)
			}
		}
	}
}

// 1.35 refuses restart rules of a sidecar, and keeps those of other init containers.
func TestRulesOfSidecarsAreRefused(t *testing.T) {
	for restartPolicy, refused := range map[string]bool{"Always": true, "Never": false} {
		s := specOf(t, `{"template":{"spec":{"restartPolicy":"Never","initContainers":[{"name":"a"},{"name":"s","restartPolicy":"`+restartPolicy+`",
			"restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[5]}}]}]}}}`)
		for _, version := range []string{"1.34", "1.35", "1.36"} {
			found, err := lint.CheckFor(s, version)
			if err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(found, func(f lint.Finding) bool {
				return f.Severity == lint.SeverityError && f.Field == "spec.template.spec.initContainers[1].restartPolicyRules" &&
					strings.HasPrefix(f.Text, "Kubernetes 1.35 refuses the Job for restart rules of an init container with restartPolicy Always unless the feature gate")
			})
			if has != (refused && version == "1.35") {
				t.Errorf("%s, restartPolicy %s: %v", version, restartPolicy, found)
			}
		}
	}
}

// A finding says whether the field is unknown or behind a gate, and names the effect.
func TestVersionFindingsNameEffect(t *testing.T) {
	s := specOf(t, everyFeature)
	for version, want := range map[string]string{
		"1.27": "spec.backoffLimitPerIndex: warning: Kubernetes 1.27 does not have the field and drops it: the failures of all indexes count together, towards backoffLimit (version)",
		"1.28": "spec.backoffLimitPerIndex: warning: Kubernetes 1.28 drops it unless the feature gate JobBackoffLimitPerIndex, off by default, is on: the failures",
		"1.25": "spec.podFailurePolicy.rules[0].onPodConditions: warning: Kubernetes 1.25 acts on it only with the feature gate PodDisruptionConditions, which is off by default: no pod has",
		"1.38": "spec.podFailurePolicy.rules[1].name: warning: Kubernetes 1.38 does not have the field and drops it, as every version up to 1.38 does; the feature gate PodFailurePolicyName is planned for it: a Job that the rule fails has the reason PodFailurePolicy, without the name (version)",
	} {
		found, err := lint.CheckFor(s, version)
		if err != nil || !slices.ContainsFunc(found, func(f lint.Finding) bool { return strings.HasPrefix(f.String(), want) }) {
			t.Errorf("%s: %v, want %s", version, found, want)
		}
	}
	for _, version := range []string{"", "1.24", "1.39", "2.30", "1", "1.x", "v1.-30", "latest"} {
		if _, err := lint.CheckFor(s, version); err == nil || err.Error() != fmt.Sprintf("lint: CheckFor(%q): the version must be from 1.25 to 1.38", version) {
			t.Errorf("%s: %v", version, err)
		}
	}
	if found, err := lint.CheckFor(nil, "1.30"); found != nil || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// Beside what a version drops, there are only findings in what it keeps, with the indexes
// that the rules have in the specification.
func TestCheckForReadsWhatTheVersionKeeps(t *testing.T) {
	const template = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a"}]}}`
	policy := func(more, rules string) *batch.JobSpec {
		return specOf(t, `{`+more+`"podFailurePolicy":{"rules":[`+rules+`]},`+template+`}`)
	}
	const anyCode, indexed = `"onExitCodes":{"operator":"NotIn","values":[0]}`, `"completionMode":"Indexed","completions":3,"parallelism":1,`
	drain := policy(``, `{"action":"FailJob",`+anyCode+`}`)
	failIndex := policy(indexed+`"backoffLimitPerIndex":2,`, `{"action":"FailIndex",`+anyCode+`},{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}},{"action":"Count","onExitCodes":{"operator":"In","values":[42]}}`)
	success := specOf(t, `{`+indexed+`"successPolicy":{"rules":[{}]},`+template+`}`)
	perIndex := specOf(t, `{`+indexed+`"backoffLimitPerIndex":1,"activeDeadlineSeconds":10,`+template+`}`)
	disruption := policy(indexed+`"backoffLimitPerIndex":2,`, `{"action":"FailIndex","onPodConditions":[{"type":"DisruptionTarget"}]}`)
	for _, tt := range []struct {
		name    string
		spec    *batch.JobSpec
		version string
		want    []string // findings of other kinds than KindVersion, up to a word
	}{
		{"a policy, dropped", drain, "1.25", nil},
		{"a policy, kept", drain, "1.26", []string{"spec.podFailurePolicy.rules[0].onExitCodes: warning: a drained node"}},
		{"a FailIndex rule, left out", failIndex, "1.28", []string{"spec.podFailurePolicy.rules[2]: warning: rule 1 matches every pod"}},
		{"a FailIndex rule, kept", failIndex, "1.29", []string{"spec.podFailurePolicy.rules[1]: warning: rule 0 matches every failure", "spec.podFailurePolicy.rules[2]: warning: rule 0 matches every failure"}},
		{"a FailIndex rule for disruptions, left out", disruption, "1.28", nil},
		{"a FailIndex rule for disruptions, kept", disruption, "1.29", []string{"spec.podFailurePolicy.rules[0].onPodConditions: notice: Kubernetes 1.29 counts a pod"}},
		{"a success policy, dropped", success, "1.30", nil},
		{"a success policy, kept", success, "1.31", []string{"spec.successPolicy.rules[0]: warning: the rule has neither"}},
		{"a limit per index, dropped", perIndex, "1.28", []string{"spec.activeDeadlineSeconds: notice: the deadline of 10s passes before backoffLimit 6"}},
		{"a limit per index, kept", perIndex, "1.29", []string{"spec.activeDeadlineSeconds: notice: the deadline of 10s passes before backoffLimitPerIndex 1"}},
	} {
		before := jsonText(tt.spec)
		found, err := lint.CheckFor(tt.spec, tt.version)
		if err != nil {
			t.Fatal(err)
		}
		found = slices.DeleteFunc(found, func(f lint.Finding) bool { return f.Kind == lint.KindVersion })
		if !slices.EqualFunc(found, tt.want, func(f lint.Finding, start string) bool { return strings.HasPrefix(f.String(), start) }) {
			t.Errorf("%s, %s: %v, want %q", tt.name, tt.version, found, tt.want)
		}
		if jsonText(tt.spec) != before {
			t.Errorf("%s, %s: CheckFor changed the specification", tt.name, tt.version)
		}
	}
}

// 1.38 refuses combinations of scheduling that 1.37 accepts.
func TestCheckJobForFindsRefusedScheduling(t *testing.T) {
	const workload, template = "scheduling.k8s.io/workload-name", "scheduling.k8s.io/group-template-name"
	with := func(annotations map[string]string, spec string) *batch.Job {
		return &batch.Job{ObjectMeta: batch.ObjectMeta{Annotations: annotations}, Spec: *specOf(t, spec)}
	}
	const plain = `{"template":{"spec":{"restartPolicy":"Never"}}}`
	const scheduling = `{"scheduling":{"schedulingPolicy":{"gang":{}}},"template":{"spec":{"restartPolicy":"Never"}}}`
	const inGroup = `{"scheduling":{},"template":{"spec":{"restartPolicy":"Never","schedulingGroup":{"podGroupName":"g"}}}}`
	for name, tt := range map[string]struct {
		job  *batch.Job
		want []string // starts of findings in 1.38, without those about the field alone
	}{
		"a pair":                      {with(map[string]string{workload: "w", template: "t"}, plain), nil},
		"neither":                     {with(map[string]string{"a": "b"}, plain), nil},
		"half a pair":                 {with(map[string]string{workload: "w"}, plain), []string{"metadata.annotations: error: Kubernetes 1.38 refuses the Job: of the annotations "}},
		"the other half":              {with(map[string]string{template: "t"}, plain), []string{"metadata.annotations: error: Kubernetes 1.38 refuses the Job: of the annotations "}},
		"one without a value":         {with(map[string]string{workload: "w", template: ""}, plain), []string{"metadata.annotations: error: Kubernetes 1.38 refuses the Job: of the annotations "}},
		"scheduling alone":            {with(nil, scheduling), nil},
		"scheduling, set to null":     {with(map[string]string{workload: "w", template: "t"}, `{"scheduling":null}`), nil},
		"scheduling beside a pair":    {with(map[string]string{workload: "w", template: "t"}, scheduling), []string{"spec.scheduling: warning: Kubernetes 1.38 refuses the Job, if the feature gate WorkloadWithJob is on, for the annotation "}},
		"scheduling in a group":       {with(nil, inGroup), []string{"spec.scheduling: warning: Kubernetes 1.38 refuses the Job, if the feature gates GenericWorkload and WorkloadWithJob are on, for template.spec.schedulingGroup"}},
		"a group without scheduling":  {with(nil, `{"template":{"spec":{"restartPolicy":"Never","schedulingGroup":{"podGroupName":"g"}}}}`), nil},
		"managedBy, always supported": {with(nil, `{"managedBy":"example.com/x","template":{"spec":{"restartPolicy":"Never"}}}`), nil},
	} {
		for version, want := range map[string][]string{"1.37": nil, "1.38": tt.want} {
			found, err := lint.CheckJobFor(tt.job, version)
			if err != nil {
				t.Fatal(err)
			}
			found = slices.DeleteFunc(found, func(f lint.Finding) bool { return strings.Contains(f.Text, " drops it ") })
			if !slices.EqualFunc(found, want, func(f lint.Finding, start string) bool { return strings.HasPrefix(f.String(), start) }) {
				t.Errorf("%s, %s: %v, want %q", name, version, found, want)
			}
		}
	}
}

// From 1.27 to 1.37 an evicted pod whose program ends with exit code 0 has succeeded. A
// Job with a rule for disruptions is told.
func TestEvictedPodsThatSucceedAreFound(t *testing.T) {
	for rule, concerned := range map[string]bool{
		`{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]}`:                                         true,
		`{"action":"Count","onPodConditions":[{"type":"example.com/A"},{"type":"DisruptionTarget","status":"True"}]}`: true,
		`{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}`:                                          false,
	} {
		s := specOf(t, `{"template":{"spec":{"restartPolicy":"Never"}},"podFailurePolicy":{"rules":[`+rule+`]}}`)
		for minor := lint.Oldest; minor <= lint.Newest; minor++ {
			found, err := lint.CheckFor(s, fmt.Sprint("1.", minor))
			if err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(found, func(f lint.Finding) bool {
				return f.Kind == lint.KindEvicted && f.Severity == lint.SeverityNotice && f.Rule == 0 && f.Field == "spec.podFailurePolicy.rules[0].onPodConditions"
			})
			if want := concerned && minor >= 27 && minor <= 37; has != want {
				t.Errorf("%s in 1.%d: found %v, want %v", rule, minor, has, want)
			}
		}
	}
}
