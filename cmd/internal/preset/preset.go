// Package preset defines the backoffs of known systems, and bounds for user-defined
// ones.
package preset

import (
	"math"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Preset is the backoff of a system. A backoff that a Policy cannot express exactly is
// refused, except for rounding to the system's unit of time.
type Preset struct {
	Name    string
	Text    string // the curve and any settings that make it exact; may span lines
	Source  string
	Policy  backoff.Policy // zero if Refused is set
	Refused string         // why it has no policy; may span lines
	Limit   StartLimit     // of starts, beside the policy
	Outside bool           // not restarted by a kubelet, so restarts cost no API requests
}

// Never is a reset threshold that no run reaches.
const Never = time.Duration(math.MaxInt64)

// All returns the presets.
func All() []Preset {
	job := backoff.JobPod()
	job.ResetAfter = Never // only a success of the Job ends a series of failures
	return []Preset{
		{
			Name: "kubelet", Text: "10s doubled up to 5m, reset by a run of 10m",
			Source: "KEP-4603, Summary",
			Policy: backoff.CrashLoop(),
		}, {
			Name: "kubelet-reduced", Text: "1s doubled up to 1m, reset by a run of 10m",
			Source: "KEP-4603, gate ReduceDefaultCrashLoopBackOffDecay",
			Policy: backoff.ReducedCrashLoop(),
		}, {
			Name: "job", Text: "10s doubled up to 10m, not reset by long runs",
			Source: "KEP-3850; Kubernetes, job_controller.go",
			Policy: job,
		}, {
			Name: "imagepull", Text: "10s doubled up to 5m, reset after 10m",
			Source: "KEP-4603, Relationship with ImagePullBackOff",
			Policy: backoff.ImagePull(),
		}, {
			// A run of exactly 10s resets the delay.
			Name: "docker", Text: "100ms doubled up to 1m, reset by a run of 10s",
			Source:  "moby, restartmanager/restartmanager.go",
			Policy:  backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute, ResetAfter: 10*time.Second - 1},
			Outside: true,
		}, {
			// Without RestartSteps the delay is constant. Long runs change nothing,
			// since only a manual start resets the restart counter.
			Name: "systemd", Text: "always 100ms; RestartSec=1s, RestartSteps=5 and\nRestartMaxDelaySec=1m change that: r_i = r_0 (r_n/r_0)^(i/n).\nGives up after 5 starts in 10s; StartLimitBurst=5 and\nStartLimitIntervalSec=10s change that, 0 means never",
			Source:  "systemd.service(5); systemd.unit(5); src/core/service.c",
			Policy:  backoff.Policy{Initial: 100 * time.Millisecond, Max: 100 * time.Millisecond, Factor: 1, ResetAfter: Never},
			Limit:   StartLimit{5, 10 * time.Second},
			Outside: true,
		}, {
			// The defaults since 1.19 (FLINK-33736). A run of exactly one hour resets
			// the delay.
			Name: "flink", Text: "1s times 1.5 up to 1m, reset by a run of 1h;\nwith jitter-factor: 0, since Flink's jitter goes both ways",
			Source:  "Flink 1.19, exponential-delay restart strategy",
			Policy:  backoff.Policy{Initial: time.Second, Max: time.Minute, Factor: 1.5, ResetAfter: time.Hour - 1},
			Outside: true,
		}, {
			Name:    "nomad",
			Source:  "Nomad, job specification, restart block",
			Refused: "the restart block limits the attempts within an\ninterval, and then gives up or waits for its end; a policy\nhas no such limit",
		}, {
			Name:    "pm2",
			Source:  "pm2, lib/God.js and lib/Worker.js",
			Refused: "1.5x up to 15s, but a worker checks for the reset\nevery 30s, so that runs of 30s to 60s sometimes reset it and\nsometimes do not",
		}, {
			Name:    "supervisord",
			Source:  "supervisor, process.py",
			Refused: "its delays grow by 1s each, and it gives up after\nstartretries; a policy multiplies, and never gives up",
		},
	}
}
