package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/restartkit/restart/kube/restartrules"
)

// options are the program's flags.
type options struct {
	node, kubeconfig, endpoint string
	rulesFile, manifests       string
	metricsListen              string
	dryRun, check, verbose     bool

	rules *restartrules.Rules // of rulesFile
}

var errVersion = errors.New("version printed")

// endpoints are the usual sockets of runtimes.
var endpoints = []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/k3s/containerd/containerd.sock"}

const usage = `Usage: sooner [flags]

Restarts crashing containers on this node earlier than the kubelet would, by rules of
their pods. It runs as root beside an unmodified kubelet, and only acts on pods that have
one of these annotations, or on all with -rules:

  restartkit.dev/restart-rules: JSON or YAML with restartPolicyRules and curve
      {"restartPolicyRules": [{"action": "Restart",
          "exitCodes": {"operator": "In", "values": [42]},
          "delay": {"initial": "1s", "max": "1s"}}]}
      restarts the container one second after each exit with code 42. The first rule that
      matches decides. Its delay is the curve of its exits, or else curve. The kubelet
      restarts the container after all other exits.
  restartkit.dev/restart-now: any new value ends the waits of the pod's containers

SIGUSR1 ends the waits of all pods with rules. A container never starts that the kubelet
would not start, and never later.

Costs: kubectl logs -p finds no log of a run that ended in an early restart, because the
records of these runs, and the logs of earlier ones, are removed. BackOff events go on.

Flags:
`

const exitCodes = `
Exit codes: 0 after SIGTERM or SIGINT, and if -check finds nothing wrong; 1 if the program
cannot start or -check finds that it would not work; 2 for wrong flags or rules.
`

// parseOptions parses flags. It prints what -h and -version ask for to stdout.
func parseOptions(args []string, stdout io.Writer, env func(string) string) (*options, error) {
	var o options
	var showVersion bool
	host, _ := os.Hostname()
	f := flag.NewFlagSet("sooner", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.node, "node-name", "", "`name` of this node (default $NODE_NAME or the host's name, "+strings.ToLower(host)+")")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` to reach the API server with; a pod uses its service account")
	f.StringVar(&o.endpoint, "runtime-endpoint", "", "`socket` of the container runtime, as unix:///path (default the usual ones)")
	f.StringVar(&o.rulesFile, "rules", "", "`file` with the rules of all pods without the annotation")
	f.StringVar(&o.manifests, "manifests", "", "`folder` of static pods, the kubelet's staticPodPath")
	f.StringVar(&o.metricsListen, "metrics-listen", "", "`address` of /metrics over HTTP, such as 127.0.0.1:9095; none by default")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be done and when, and do nothing")
	f.BoolVar(&o.check, "check", false, "print whether the program would work on this node, and why not")
	f.BoolVar(&o.verbose, "v", false, "log each decision")
	f.BoolVar(&showVersion, "version", false, "print the version")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		f.SetOutput(stdout)
		f.PrintDefaults()
		fmt.Fprint(stdout, exitCodes)
		return nil, err
	case err != nil:
		return nil, err
	case showVersion:
		fmt.Fprintln(stdout, thisVersion())
		return nil, errVersion
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.node == "" {
		if o.node = env("NODE_NAME"); o.node == "" {
			o.node = strings.ToLower(host)
		}
	}
	if o.endpoint == "" {
		i := slices.IndexFunc(endpoints, func(path string) bool { _, err := os.Stat(path); return err == nil })
		o.endpoint = "unix://" + endpoints[max(i, 0)]
	}
	if _, err := socket(o.endpoint); err != nil {
		return nil, err
	}
	if o.kubeconfig == "" && env("KUBERNETES_SERVICE_HOST") == "" && o.manifests == "" {
		return nil, errors.New("no pods to look at: -kubeconfig or -manifests is missing")
	}
	if o.rulesFile != "" {
		text, err := os.ReadFile(o.rulesFile)
		if err != nil {
			return nil, fmt.Errorf("-rules: %w", err)
		}
		if o.rules, err = restartrules.Parse(string(text)); err != nil {
			return nil, fmt.Errorf("-rules %s: %w", o.rulesFile, err)
		}
	}
	return &o, nil
}

// cluster reports whether there is an API server.
func (o *options) cluster(env func(string) string) bool {
	return o.kubeconfig != "" || env("KUBERNETES_SERVICE_HOST") != ""
}
