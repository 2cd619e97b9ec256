package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
	"github.com/restartkit/restart/field"
	joblint "github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/check/document"
	"github.com/restartkit/restart/kube/convert"
)

// pod checks a pod of its own.
func (j *judge) pod(p *corev1.Pod) {
	j.metadata(&p.ObjectMeta, false)
	j.podSpec("spec.", &p.Spec)
	j.images("spec.containers", p.Spec.Containers)
	j.images("spec.initContainers", p.Spec.InitContainers)
	switch p.Spec.RestartPolicy {
	case "", corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
	default:
		j.add(field.NotSupported, "spec.restartPolicy", string(p.Spec.RestartPolicy), "must be Always, OnFailure or Never")
	}
	if len(p.Spec.EphemeralContainers) > 0 && j.isNew() {
		j.add(field.Invalid, "spec.ephemeralContainers", nil, "must be absent from a new pod: kubectl debug adds them")
	}
	j.podVersion("", &p.Spec)
}

// images refuses spaces around the images of a pod's containers. In a template the API server
// accepts them.
func (j *judge) images(at string, containers []corev1.Container) {
	for i := range containers {
		if image := containers[i].Image; image != strings.TrimSpace(image) {
			j.add(field.Invalid, fmt.Sprintf("%s[%d].image", at, i), image, "must not begin or end with a space")
		}
	}
}

// template checks a template of pods at a path that ends with a dot, but for the
// restartPolicy, which depends on the template's owner.
func (j *judge) template(at string, t *corev1.PodTemplateSpec) {
	j.labels(at+"metadata.", &t.ObjectMeta)
	j.podSpec(at+"spec.", &t.Spec)
	if len(t.Spec.EphemeralContainers) > 0 {
		j.add(field.Invalid, at+"spec.ephemeralContainers", nil, "must be absent from a template")
	}
}

// podSpec checks the fields that decide about the restarts of a pod's containers.
func (j *judge) podSpec(at string, p *corev1.PodSpec) {
	if seconds := p.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		j.say(Warning, KindGrace, at+"terminationGracePeriodSeconds", fmt.Sprintf("is %d, which counts as 1 second", *seconds))
	}
	if seconds := p.ActiveDeadlineSeconds; seconds != nil && (*seconds < 1 || *seconds > math.MaxInt32) {
		j.add(field.Invalid, at+"activeDeadlineSeconds", *seconds, fmt.Sprintf("must be from 1 to %d", math.MaxInt32))
	}
	if account := p.ServiceAccountName; account != "" && len(validation.IsDNS1123Subdomain(account)) > 0 {
		j.add(field.Invalid, at+"serviceAccountName", account, subdomainRule)
	}
	if len(p.Containers) == 0 {
		j.add(field.Required, at+"containers", nil, "a pod needs a container")
	}
	names := make(map[string]bool)
	for i := range p.Containers {
		c := &p.Containers[i]
		path := fmt.Sprintf("%scontainers[%d]", at, i)
		j.container(path, p, c, names)
		j.probes(path, c)
	}
	for i := range p.InitContainers {
		c := &p.InitContainers[i]
		path := fmt.Sprintf("%sinitContainers[%d]", at, i)
		j.container(path, p, c, names)
		if isSidecar(c) {
			j.probes(path, c)
		} else {
			j.notOfInit(path, c)
		}
	}
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// notOfInit refuses fields that only containers that stay may have.
func (j *judge) notOfInit(at string, c *corev1.Container) {
	for _, part := range []struct {
		name  string
		isSet bool
	}{
		{"lifecycle", c.Lifecycle != nil},
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
	} {
		if part.isSet {
			j.add(field.Invalid, at+"."+part.name, nil, "must be absent from an init container without restartPolicy Always")
		}
	}
}

// container checks a container. names are those of the containers before it.
func (j *judge) container(at string, p *corev1.PodSpec, c *corev1.Container, names map[string]bool) {
	switch {
	case c.Name == "":
		j.add(field.Required, at+".name", nil, "a container needs a name")
	case len(validation.IsDNS1123Label(c.Name)) > 0:
		j.add(field.Invalid, at+".name", c.Name, labelRule)
	case names[c.Name]:
		j.add(field.Duplicate, at+".name", c.Name, "another container of the pod has this name")
	}
	names[c.Name] = true
	if c.Image == "" {
		j.add(field.Required, at+".image", nil, "a container needs an image")
	}
	switch c.ImagePullPolicy {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		j.add(field.NotSupported, at+".imagePullPolicy", string(c.ImagePullPolicy), "must be Always, IfNotPresent or Never")
	}
	j.rules(at, p, c)
}

// The limits of a container's restart rules.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// rules checks the restart policy and rules of a container (KEP-5307, KEP-5532).
func (j *judge) rules(at string, p *corev1.PodSpec, c *corev1.Container) {
	before := len(j.errs)
	switch {
	case c.RestartPolicy == nil && len(c.RestartPolicyRules) > 0:
		j.add(field.Required, at+".restartPolicy", nil, "restartPolicyRules need it beside them")
	case c.RestartPolicy == nil:
	case !slices.Contains([]corev1.ContainerRestartPolicy{corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever}, *c.RestartPolicy):
		j.add(field.NotSupported, at+".restartPolicy", string(*c.RestartPolicy), "must be Always, OnFailure or Never")
	}
	if len(c.RestartPolicyRules) == 0 {
		return
	}
	if n := len(c.RestartPolicyRules); n > maxRestartRules {
		j.add(field.TooMany, at+".restartPolicyRules", n, fmt.Sprintf("must be at most %d", maxRestartRules))
	}
	valid := 0 // rules before the first with an error
	for i := range c.RestartPolicyRules {
		path, errs := fmt.Sprintf("%s.restartPolicyRules[%d]", at, i), len(j.errs)
		j.rule(path, &c.RestartPolicyRules[i])
		isMistaken := slices.ContainsFunc(j.Mistakes, func(m document.Mistake) bool { return document.Within(m.Path, path) })
		if valid == i && len(j.errs) == errs && !isMistaken {
			valid++
		}
	}
	policy := convert.ExitPolicy(p, c)
	if valid < len(policy.Rules) || len(j.errs) > before {
		// What a rule does depends on itself and on the rules before it. Only whether it
		// repeats the restart policy depends on that and on later rules. No rule repeats
		// Never.
		policy.Rules, policy.RestartPolicy = policy.Rules[:valid], backoff.RestartPolicyNever
	}
	for _, finding := range lint.Check(policy) {
		severity := Notice
		if finding.Kind == lint.KindUnreachable || finding.Kind == lint.KindHotLoop {
			severity = Warning
		}
		j.say(severity, Kind(finding.Kind), at+"."+finding.Field, finding.Text)
	}
}

// rule checks one of a container's restart rules.
func (j *judge) rule(path string, r *corev1.ContainerRestartRule) {
	if r.Action != corev1.ContainerRestartRuleActionRestart && r.Action != corev1.ContainerRestartRuleActionRestartAllContainers {
		j.add(field.NotSupported, path+".action", string(r.Action), "must be Restart or RestartAllContainers")
	}
	if r.ExitCodes == nil {
		j.add(field.Required, path+".exitCodes", nil, "a rule needs them")
		return
	}
	if o := r.ExitCodes.Operator; o != corev1.ContainerRestartRuleOnExitCodesOpIn && o != corev1.ContainerRestartRuleOnExitCodesOpNotIn {
		j.add(field.NotSupported, path+".exitCodes.operator", string(o), "must be In or NotIn")
	}
	if n := len(r.ExitCodes.Values); n > maxExitCodes {
		j.add(field.TooMany, path+".exitCodes.values", n, fmt.Sprintf("must be at most %d", maxExitCodes))
	}
}

// probes checks the numbers of a container's probes and that each has one way to probe.
func (j *judge) probes(at string, c *corev1.Container) {
	for _, one := range []struct {
		name  string
		probe *corev1.Probe
	}{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}} {
		if one.probe != nil {
			j.probe(at+"."+one.name, one.name == "readinessProbe", one.probe)
		}
	}
}

func (j *judge) probe(at string, isReadiness bool, p *corev1.Probe) {
	handlers := 0
	for _, isSet := range []bool{p.Exec != nil, p.HTTPGet != nil, p.TCPSocket != nil, p.GRPC != nil} {
		if isSet {
			handlers++
		}
	}
	switch {
	case handlers == 0:
		j.add(field.Required, at, nil, "a probe needs one of exec, httpGet, tcpSocket and grpc")
	case handlers > 1:
		j.add(field.Invalid, at, nil, "must have only one of exec, httpGet, tcpSocket and grpc")
	}
	notNegative(j, at+".initialDelaySeconds", &p.InitialDelaySeconds)
	notNegative(j, at+".timeoutSeconds", &p.TimeoutSeconds)
	notNegative(j, at+".periodSeconds", &p.PeriodSeconds)
	notNegative(j, at+".failureThreshold", &p.FailureThreshold)
	switch n := p.SuccessThreshold; {
	case isReadiness:
		notNegative(j, at+".successThreshold", &n)
	case n != 0 && n != 1:
		j.add(field.Invalid, at+".successThreshold", n, "must be 1")
	}
	switch seconds := p.TerminationGracePeriodSeconds; {
	case seconds == nil:
	case isReadiness:
		j.add(field.Invalid, at+".terminationGracePeriodSeconds", *seconds, "must be absent from a readinessProbe")
	case *seconds <= 0:
		j.add(field.Invalid, at+".terminationGracePeriodSeconds", *seconds, "must be above 0")
	}
}

// podVersion names the fields of a pod that the version of Kubernetes drops, refuses or
// ignores. at is the path of the object or template with the pod's spec.
func (j *judge) podVersion(at string, p *corev1.PodSpec) {
	job := batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: *p}}}
	findings, _ := joblint.CheckJobFor(convert.Job(&job), j.version)
	for _, finding := range findings {
		if finding.Kind != joblint.KindVersion {
			continue
		}
		path := at + strings.TrimPrefix(finding.Field, "spec.template.")
		j.say(Severity(finding.Severity), KindVersion, path, strings.ReplaceAll(finding.Text, "the Job", "the "+j.Kind))
	}
	j.stopSignals(at, p)
}

// stopSignals names stop signals, since no version up to 1.38 keeps them by default.
func (j *judge) stopSignals(at string, p *corev1.PodSpec) {
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", p.InitContainers}, {"containers", p.Containers}} {
		for i := range list.containers {
			if l := list.containers[i].Lifecycle; l == nil || l.StopSignal == nil {
				continue
			}
			text := "drops it unless the feature gate ContainerStopSignals, off by default, is on"
			if minorOf(j.version) < 33 {
				text = "does not have the field and drops it"
			}
			j.say(Warning, KindVersion, fmt.Sprintf("%sspec.%s[%d].lifecycle.stopSignal", at, list.name, i),
				fmt.Sprintf("Kubernetes %s %s: the container is stopped with the signal that its image names, or SIGTERM", shortVersion(j.version), text))
			return
		}
	}
}
