package curve

import (
	"time"

	"github.com/restartkit/restart/backoff"
)

// System is a system with a known curve. A curve that a backoff.Policy cannot express
// exactly is refused, except for rounding to the system's unit of time.
type System struct {
	Curve   Curve
	Text    string // the curve in words
	Source  string // where it is documented
	Refused string // why there is no curve; "" if there is one
}

// Systems returns the known systems.
func Systems() []System {
	job := backoff.JobPod()
	job.ResetAfter = Never // only a success of the Job ends a series of failures
	return []System{
		{
			Curve:  Curve{Name: "kubelet", Policy: backoff.CrashLoop()},
			Text:   "10s doubled up to 5m, reset by a run of 10m",
			Source: "KEP-4603, Summary",
		}, {
			Curve:  Curve{Name: "kubelet-reduced", Policy: backoff.ReducedCrashLoop()},
			Text:   "1s doubled up to 1m, reset by a run of 10m",
			Source: "KEP-4603, gate ReduceDefaultCrashLoopBackOffDecay",
		}, {
			Curve:  Curve{Name: "job", Policy: job},
			Text:   "10s doubled up to 10m, not reset by long runs",
			Source: "KEP-3850; Kubernetes, job_controller.go",
		}, {
			Curve:  Curve{Name: "imagepull", Policy: backoff.ImagePull()},
			Text:   "10s doubled up to 5m, reset after 10m",
			Source: "KEP-4603, Relationship with ImagePullBackOff",
		}, {
			// A run of exactly 10s resets the delay.
			Curve: Curve{
				Name:    "docker",
				Policy:  backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute, ResetAfter: 10*time.Second - 1},
				Outside: true,
			},
			Text:   "100ms doubled up to 1m, reset by a run of 10s",
			Source: "moby, restartmanager/restartmanager.go",
		}, {
			// The defaults, without RestartSteps. Long runs change nothing, since only a
			// manual start resets the restart counter.
			Curve: Curve{
				Name:    "systemd",
				Policy:  backoff.Policy{Initial: 100 * time.Millisecond, Max: 100 * time.Millisecond, Factor: 1, ResetAfter: Never},
				Limit:   StartLimit{Starts: 5, Within: 10 * time.Second},
				Outside: true,
			},
			Text:   "always 100ms, gives up after 5 starts in 10s",
			Source: "systemd.service(5), systemd.unit(5), src/core/service.c",
		}, {
			// The defaults since 1.19 (FLINK-33736). A run of exactly one hour resets
			// the delay. Flink's jitter goes both ways, which a policy does not express.
			Curve: Curve{
				Name:    "flink",
				Policy:  backoff.Policy{Initial: time.Second, Max: time.Minute, Factor: 1.5, ResetAfter: time.Hour - 1},
				Outside: true,
			},
			Text:   "1s times 1.5 up to 1m, reset by a run of 1h, without its jitter",
			Source: "Flink 1.19, exponential-delay restart strategy",
		}, {
			Curve:   Curve{Name: "nomad"},
			Source:  "Nomad, job specification, restart block",
			Refused: "its restart block limits the attempts within an interval, and then gives up or waits for the interval's end",
		}, {
			Curve:   Curve{Name: "pm2"},
			Source:  "pm2, lib/God.js and lib/Worker.js",
			Refused: "a worker checks for the reset every 30s, so runs of 30s to 60s sometimes reset the delay and sometimes do not",
		}, {
			Curve:   Curve{Name: "supervisord"},
			Source:  "supervisor, process.py",
			Refused: "its delays grow by 1s each, and it gives up after startretries",
		},
	}
}

// Names returns the names of the systems with a curve.
func Names() []string {
	var names []string
	for _, s := range Systems() {
		if s.Refused == "" {
			names = append(names, s.Curve.Name)
		}
	}
	return names
}
