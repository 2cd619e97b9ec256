package explain

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/kube/convert"
)

// signals are the names of the signals that end programs on Linux.
var signals = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}

// signalOf returns the number of the signal that ended a program, or 0.
func signalOf(code, signal int32) int32 {
	if signal == 0 && code > 128 && code < 128+65 {
		return code - 128
	}
	return signal
}

// lost is the reason of the exit that a kubelet makes up, with exit code 137, for a missing
// container.
const lost = "ContainerStatusUnknown"

// cause says how a run ended, for "it" before it.
func cause(e *Exit) string {
	code := fmt.Sprintf("exit code %d", e.Code)
	switch {
	case e.Reason == "OOMKilled":
		return "was OOM-killed (" + code + ")"
	case e.Reason == lost:
		return "was lost: the kubelet has not seen its end"
	case e.Reason == restartingAll:
		return "was removed, because a rule restarts all containers of the pod"
	case e.Reason == "StartError" || e.Reason == "ContainerCannotRun" || e.Started.IsZero() && e.Code == 128:
		return "could not be started (" + sentence(", ", code, line(e.Reason)) + ")"
	case e.Reason == "DeadlineExceeded":
		return "was ended by the deadline (" + code + ")"
	}
	if n := signalOf(e.Code, e.Signal); n != 0 {
		name := signals[n]
		if name == "" {
			name = fmt.Sprintf("signal %d", n)
		}
		return fmt.Sprintf("was ended by %s (%s)", name, code)
	}
	reason := ""
	if e.Reason != "Error" && e.Reason != "Completed" {
		reason = line(e.Reason)
	}
	return "ended with " + code + conditionText(reason, "")
}

// exitText describes an exit.
func exitText(code, signal int32, reason string) string {
	if reason == lost {
		return "lost: the kubelet has not seen its end (" + reason + ")"
	}
	text := fmt.Sprintf("exit code %d", code)
	if n := signalOf(code, signal); n != 0 {
		if text += fmt.Sprintf(", signal %d", n); signals[n] != "" {
			text += " " + signals[n]
		}
	}
	if reason != "" {
		text += " (" + line(reason) + ")"
	}
	return text
}

// logs returns the command that shows the last run's log of a container.
func (v *podView) logs(c *Container) string {
	text := fmt.Sprintf("kubectl logs -n %s %s -c %s", line(v.p.Namespace), line(v.p.Name), line(c.Name))
	if c.State == "waiting" || c.State == "running" && v.unstable(c) {
		text += " --previous"
	}
	return text
}

// exitAdvice is the advice about an ended container. h may be nil.
func (v *podView) exitAdvice(c *Container, h *convert.History, events []*corev1.Event) string {
	last := c.last()
	if last == nil {
		return "see its log: " + v.logs(c)
	}
	if k := v.killOf(events, last); k != nil {
		return k.remedy + "; its log: " + v.logs(c)
	}
	container := containerNamed(v.p, c.Name)
	switch {
	case last.Reason == "OOMKilled":
		if container != nil {
			if q, ok := container.Resources.Limits[corev1.ResourceMemory]; ok {
				return "its memory limit is " + q.String() + ": raise resources.limits.memory, or make it use less"
			}
		}
		return "it has no memory limit of its own, so the pod's or the node's memory was used up: see kubectl describe node " +
			line(v.p.Spec.NodeName) + " and the pod's own limit; request what it needs, or make it use less"
	case last.Reason == "StartError" || last.Reason == "ContainerCannotRun" || last.Code == 128 && last.Started.IsZero():
		return startAdvice(last.Message)
	case last.Reason == "ContainerStatusUnknown":
		return "see whether node " + line(v.p.Spec.NodeName) + " or its container runtime was restarted; the run left no exit code and perhaps no log"
	case last.Reason == restartingAll:
		return restartAllAdvice
	case last.Code == 0 && c.Decision != nil && c.Decision.Action == "Restart":
		return "see why it ended: " + v.logs(c) + "; restartPolicy Always is for programs that go on running in the foreground, and a Job for what ends"
	case last.Code == 127:
		return "a shell did not find a command (127): correct command or args, or the image; its log: " + v.logs(c)
	case last.Code == 126:
		return "a command is not executable (126): correct its mode, command or image; its log: " + v.logs(c)
	case last.Code == 139:
		return "the program crashed (segmentation fault); its log: " + v.logs(c)
	case (last.Code == 137 || last.Code == 143) && v.p.DeletionTimestamp != nil:
		return "the deletion of the pod has probably ended it; its log: " + v.logs(c)
	case last.Code == 143:
		return "something asked it to stop (SIGTERM), such as a probe, an eviction or its own supervisor: " + v.logs(c)
	case last.Code == 137:
		return "something killed it: a probe, the end of a grace period, or the node's memory; Events say it for an hour: kubectl events -n " + line(v.p.Namespace) + " --for pod/" + line(v.p.Name)
	}
	return "see its log: " + v.logs(c)
}

// reasonAdvice is the advice about a failed pod whose status has a reason that says more
// than the exits of its containers, or "".
func (v *podView) reasonAdvice() string {
	p, node := v.p, line(v.p.Spec.NodeName)
	switch reason := p.Status.Reason; {
	case reason == "DeadlineExceeded" && p.Spec.ActiveDeadlineSeconds != nil:
		return fmt.Sprintf("raise activeDeadlineSeconds (%d), or make it end sooner", *p.Spec.ActiveDeadlineSeconds)
	case reason == "Evicted" && overItsLimit(p.Status.Message):
		return "the pod broke a limit of its own, which the message names: raise the sizeLimit of the emptyDir or the limit of ephemeral-storage, or make it write less"
	case reason == "Evicted":
		return "node " + node + " ran short of what the message names: request and limit what the pod needs, and see kubectl describe node " + node
	case reason == "Preempting", reason == "Preempted":
		return "a pod of a higher priority took its place: add a node, or raise the pod's priority"
	case reason == "Terminated", reason == "NodeShutdown", reason == "Shutdown":
		return "node " + node + " was shut down: start the pod elsewhere, or leave it to its controller"
	case strings.HasPrefix(reason, "OutOf"), reason == "NodeAffinity", reason == "UnexpectedAdmissionError":
		return "the kubelet of node " + node + " refused the pod: compare what it requests with kubectl describe node " + node
	}
	return ""
}

// overItsLimit reports whether a kubelet evicted a pod because of its own limit and not
// because the node ran short (pkg/kubelet/eviction/helpers.go).
func overItsLimit(message string) bool {
	return strings.HasPrefix(message, "Usage of EmptyDir volume") || strings.HasPrefix(message, "Pod ephemeral local storage usage exceeds") ||
		strings.Contains(message, "exceeded its local ephemeral storage limit")
}

// createAdvice is the advice about pods that a controller cannot create, or "".
func createAdvice(message, namespace string) string {
	text := strings.ToLower(message)
	switch {
	case strings.Contains(text, "exceeded quota"):
		return "raise the ResourceQuota or free what it counts: kubectl describe quota -n " + line(namespace)
	case strings.Contains(text, "violates podsecurity"):
		return "correct the securityContext in the template as the message says; the namespace " + line(namespace) + " allows no such pods"
	case strings.Contains(text, "failed calling webhook"):
		return "see whether the server of the webhook that the message names runs"
	case strings.Contains(text, "limitrange"), strings.Contains(text, "limit range"):
		return "compare the template's resources with kubectl describe limitrange -n " + line(namespace)
	}
	return missing(message, namespace)
}

func containerNamed(p *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// startAdvice is the advice about a message of a container runtime that could not
// start a container.
func startAdvice(message string) string {
	text := strings.ToLower(message)
	switch {
	case strings.Contains(text, "executable file not found"), strings.Contains(text, "no such file or directory") && strings.Contains(text, "exec"):
		return "its command is not in the image: correct command, args or image"
	case strings.Contains(text, "permission denied"):
		return "its command may not be executed: correct its mode in the image, or runAsUser"
	case strings.Contains(text, "exec format error"):
		return "the image is for another processor than the node's: use an image for its architecture"
	case strings.Contains(text, "not a directory"), hasWord(text, "mount"), hasWord(text, "mounting"), hasWord(text, "mounted"):
		return "a volume cannot be mounted where volumeMounts says: correct mountPath or subPath"
	case hasWord(text, "oom"), hasWord(text, "memory"):
		return "its memory limit is too small to start it: raise resources.limits.memory"
	}
	return "correct what the message says; its command, args and image decide"
}

// waitAdvice is the advice about a container that waits for another reason than the
// others before it.
func (v *podView) waitAdvice(c *Container, h *convert.History, events []*corev1.Event) string {
	switch c.Reason {
	case "CrashLoopBackOff":
		return v.exitAdvice(c, h, events)
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable":
		messages := []string{c.Message}
		for _, e := range events { // the back-off's message may not have the cause
			if e.Reason == "Failed" {
				messages = append(messages, e.Message)
			}
		}
		return pullAdvice(strings.ToLower(strings.Join(messages, " ")), h.Container.Image)
	case "ErrImageNeverPull":
		return "load the image on the node, or change imagePullPolicy"
	case "InvalidImageName":
		return "correct the name of the image: " + quoted(line(h.Container.Image))
	case "CreateContainerConfigError":
		if remedy := missing(c.Message, v.p.Namespace); remedy != "" {
			return remedy
		}
		text := strings.ToLower(c.Message)
		if strings.Contains(text, "runasnonroot") || strings.Contains(text, "non-root") {
			return "set runAsUser to another user than 0, or use an image that has one"
		}
	case "RunContainerError", "StartError", "ContainerCannotRun", "CreateContainerError":
		return startAdvice(c.Message)
	case "PostStartHookError":
		return "correct lifecycle.postStart; the log of the run: " + v.logs(c)
	}
	return "correct what the message says"
}

// pullAdvice is the advice about an image that cannot be pulled.
func pullAdvice(text, image string) string {
	text = imageDigest.ReplaceAllString(strings.ReplaceAll(text, strings.ToLower(image), ""), "") // its name may have any word
	has := func(parts ...string) bool {
		for _, part := range parts {
			if hasWord(text, part) {
				return true
			}
		}
		return false
	}
	name := line(image)
	switch {
	case has("toomanyrequests", "429", "rate limit"):
		return "the registry limits the pulls: wait, or log in with imagePullSecrets"
	case has("unauthorized", "denied", "authentication", "403", "401", "no basic auth"):
		return "the registry refuses: correct the name of the image " + name + ", or give the pod imagePullSecrets"
	case has("not found", "manifest unknown", "no such image", "does not exist"):
		return "the registry does not have it: correct the name or tag of the image " + name
	case has("no match for platform", "no matching manifest"):
		return "the image " + name + " has no variant for the node's architecture"
	case has("no such host", "timeout", "timed out", "connection refused", "i/o", "tls", "x509", "unreachable", "eof"):
		return "the node does not reach the registry of " + name + ": see its network, DNS, proxy and certificates"
	case has("no space left"):
		return "the node's disk is full: free space on it"
	}
	return "see whether the image " + name + " exists and the node may pull it"
}

var imageDigest = regexp.MustCompile(`sha256:[0-9a-f]+`)

// hasWord reports whether a text has a word, or several in a row.
func hasWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
}

// quoted puts a text of the cluster in quotes, shortened for a summary.
func quoted(text string) string {
	const most = 120
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return `"` + text + `"`
}

// soon formats the time of a Start for a summary.
func (s Start) soon(o Options) string {
	now := o.Now
	about := ""
	if s.Estimated {
		about = ", as an estimate"
	}
	switch {
	case now.After(s.To) && o.Undated:
		return fmt.Sprintf("at a time that is over, by %s%s", ago(s.To, now), about)
	case now.After(s.To):
		return fmt.Sprintf("late, since it was due by %s%s", ago(s.To, now), about)
	case now.Before(s.From):
		return fmt.Sprintf("in %s to %s%s", rest(s.From.Sub(now)), rest(s.To.Sub(now)), about)
	}
	return fmt.Sprintf("within %s%s", rest(s.To.Sub(now)), about)
}
