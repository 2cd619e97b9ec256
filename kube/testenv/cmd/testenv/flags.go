package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/kube/testenv"
)

// flags are the parsed command line.
type flags struct {
	options     testenv.Options
	build       bool
	kubectl     bool
	kubeletOnly bool
	run         time.Duration // of a simulated pod
	command     []string
}

// parse parses the command line. It prints its errors.
func parse(args []string, stderr io.Writer) (flags, error) {
	f := flags{options: testenv.Options{Log: stderr, Kubelet: map[string]any{}, FeatureGates: map[string]bool{}}}
	set := flag.NewFlagSet("testenv", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.BoolVar(&f.build, "build", false, "make missing programs, print the paths of all, and exit")
	set.BoolVar(&f.kubectl, "kubectl", false, "build kubectl and print its path; the command finds it if PATH has none")
	set.DurationVar(&f.run, "run", 2*time.Second, "how long a simulated pod runs without the annotation")
	set.StringVar(&f.options.Version, "kubernetes", "1.37", "`version` of Kubernetes, 1.37 or 1.36")
	set.Func("gates", "feature `gates` of all programs, such as A=true,B=false", f.gates)
	set.BoolVar(&f.options.Node, "node", false, "run a real node")
	set.BoolVar(&f.kubeletOnly, "kubelet-only", false, "with -node, run only kubelet and containerd, without an API server")
	set.Func("controllers", "with -node, the `controllers` of kube-controller-manager, such as '*,-job-controller'", list(&f.options.Controllers))
	set.Func("kubelet", "with -node, a `field=value` of the KubeletConfiguration, such as syncFrequency=1s; may be repeated", f.kubeletField)
	set.Func("busybox-names", "with -node, more comma-separated `names` of the image busybox", list(&f.options.BusyboxNames))
	set.Func("pause-names", "with -node, more comma-separated `names` of the image pause", list(&f.options.PauseNames))
	set.Usage = func() {
		fmt.Fprint(stderr, usage)
		set.PrintDefaults()
	}
	if err := set.Parse(args); err != nil {
		return f, err
	}
	f.command = set.Args()
	var err error
	if !f.options.Node {
		set.Visit(func(g *flag.Flag) {
			switch g.Name {
			case "kubelet-only", "controllers", "kubelet", "busybox-names", "pause-names":
				err = fmt.Errorf("-%s needs -node", g.Name)
			}
		})
	}
	if f.kubeletOnly && (f.kubectl || f.options.Controllers != nil) {
		err = errors.New("-kubelet-only does not go with -kubectl or -controllers")
	}
	if err != nil {
		fmt.Fprintln(stderr, "testenv:", err)
	}
	return f, err
}

func list(to *[]string) func(string) error {
	return func(text string) error {
		*to = append(*to, strings.Split(text, ",")...)
		return nil
	}
}

func (f *flags) gates(text string) error {
	for gate := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(gate, "=")
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not NAME=true or NAME=false", gate)
		}
		f.options.FeatureGates[name] = on
	}
	return nil
}

// kubeletField takes values of any type. Those that are not JSON are strings.
func (f *flags) kubeletField(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("not FIELD=VALUE")
	}
	var field any = value
	var parsed any
	if json.Unmarshal([]byte(value), &parsed) == nil {
		field = parsed
	}
	f.options.Kubelet[name] = field
	return nil
}
