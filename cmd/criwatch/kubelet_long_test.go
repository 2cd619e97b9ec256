//go:build long

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// A kubelet makes pods on the runtime that CRI_SOCKET names.
type kubelet struct {
	t         testing.TB
	ctx       context.Context
	client    cri.RuntimeServiceClient
	endpoint  string
	image     string
	cgroup    string
	namespace string // unique, so that pods left by other tests do not matter
	serial    atomic.Int64
}

var kubelets atomic.Int64

// newKubelet skips the test without a runtime. The pods that it makes are removed
// at the end.
func newKubelet(t testing.TB) *kubelet {
	socket := os.Getenv("CRI_SOCKET")
	if socket == "" {
		t.Skip("needs a CRI runtime: set CRI_SOCKET, or run containerd.sh all")
	}
	endpoint, err := parseEndpoint(socket)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dial(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	d := &kubelet{
		t: t, ctx: context.Background(), client: cri.NewRuntimeServiceClient(conn), endpoint: endpoint,
		image:  cmp.Or(os.Getenv("CRI_IMAGE"), "docker.io/library/busybox:latest"),
		cgroup: os.Getenv("CRI_CGROUP"), namespace: fmt.Sprintf("criwatch-test-%d-%d", os.Getpid(), kubelets.Add(1)),
	}
	programtest.Eventually(d.t, "the runtime answers", func() bool {
		_, err := d.client.Version(d.ctx, &cri.VersionRequest{})
		return err == nil
	})
	t.Cleanup(func() {
		d.removeAll()
		conn.Close()
	})
	return d
}

func (d *kubelet) podConfig(name string) *cri.PodSandboxConfig {
	return &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: name, Namespace: d.namespace, Uid: "uid-" + name},
		LogDirectory: d.t.TempDir(),
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: d.cgroup,
			SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{
				Network: cri.NamespaceMode_NODE,
				Pid:     cri.NamespaceMode_CONTAINER, // containers outlive their sandbox
			}},
		},
	}
}

// A testPod is a pod made by a kubelet.
type testPod struct {
	id     string
	config *cri.PodSandboxConfig
}

func (d *kubelet) runPod() testPod {
	d.t.Helper()
	p := testPod{config: d.podConfig(fmt.Sprintf("pod-%d", d.serial.Add(1)))}
	r, err := d.client.RunPodSandbox(d.ctx, &cri.RunPodSandboxRequest{Config: p.config})
	if err != nil {
		d.t.Fatalf("RunPodSandbox: %v", err)
	}
	p.id = r.PodSandboxId
	return p
}

// create makes a container that runs a shell command.
func (d *kubelet) create(p testPod, command string) (string, error) {
	r, err := d.client.CreateContainer(d.ctx, &cri.CreateContainerRequest{
		PodSandboxId:  p.id,
		SandboxConfig: p.config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: fmt.Sprintf("c%d", d.serial.Add(1))},
			Image:    &cri.ImageSpec{Image: d.image},
			Command:  []string{"/bin/sh", "-c", command},
			Linux: &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{
				NamespaceOptions: p.config.Linux.SecurityContext.NamespaceOptions,
			}},
		},
	})
	return r.GetContainerId(), err
}

// start makes and starts a container.
func (d *kubelet) start(p testPod, command string) string {
	d.t.Helper()
	id, err := d.create(p, command)
	if err != nil {
		d.t.Fatalf("CreateContainer: %v", err)
	}
	if _, err := d.client.StartContainer(d.ctx, &cri.StartContainerRequest{ContainerId: id}); err != nil {
		d.t.Fatalf("StartContainer: %v", err)
	}
	return id
}

func (d *kubelet) remove(container string) {
	d.t.Helper()
	if _, err := d.client.RemoveContainer(d.ctx, &cri.RemoveContainerRequest{ContainerId: container}); err != nil {
		d.t.Fatalf("RemoveContainer: %v", err)
	}
}

func (d *kubelet) removePod(id string) {
	d.t.Helper()
	if err := d.tryToRemovePod(id); err != nil {
		d.t.Error(err)
	}
}

func (d *kubelet) tryToRemovePod(id string) error {
	if _, err := d.client.StopPodSandbox(d.ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return fmt.Errorf("StopPodSandbox: %w", err)
	}
	if _, err := d.client.RemovePodSandbox(d.ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id}); err != nil {
		return fmt.Errorf("RemovePodSandbox: %w", err)
	}
	return nil
}

// removeAll removes the pods of d. After a kill containerd may refuse to remove a sandbox
// whose task it has lost. Such a pod is logged and left.
func (d *kubelet) removeAll() {
	for _, id := range d.pods() {
		var err error
		for range 3 {
			if err = d.tryToRemovePod(id); err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		if err != nil {
			d.t.Logf("pod %s is left: %v", id, err)
		}
	}
}

// pods returns the ids of the sandboxes that d has made and that are there.
func (d *kubelet) pods() (ids []string) {
	list, err := d.client.ListPodSandbox(d.ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		d.t.Errorf("ListPodSandbox: %v", err)
	}
	for _, s := range list.GetItems() {
		if s.Metadata.Namespace == d.namespace {
			ids = append(ids, s.Id)
		}
	}
	return ids
}

// pid returns the process id of a running container or sandbox, as containerd
// tells it.
func (d *kubelet) pid(info map[string]string) int {
	d.t.Helper()
	var v struct{ Pid int }
	if err := json.Unmarshal([]byte(info["info"]), &v); err != nil || v.Pid == 0 {
		d.t.Fatalf("the runtime tells no process id: %v, %v", info, err)
	}
	return v.Pid
}

func (d *kubelet) containerPid(id string) int {
	d.t.Helper()
	r, err := d.client.ContainerStatus(d.ctx, &cri.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		d.t.Fatalf("ContainerStatus: %v", err)
	}
	return d.pid(r.Info)
}

func (d *kubelet) sandboxPid(id string) int {
	d.t.Helper()
	r, err := d.client.PodSandboxStatus(d.ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		d.t.Fatalf("PodSandboxStatus: %v", err)
	}
	return d.pid(r.Info)
}

// exitCode returns what the runtime says of an exited container.
func (d *kubelet) exitCode(id string) int32 {
	d.t.Helper()
	r, err := d.client.ContainerStatus(d.ctx, &cri.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		d.t.Fatalf("ContainerStatus: %v", err)
	}
	return r.Status.ExitCode
}

// exited reports whether the runtime lists a container as exited.
func (d *kubelet) exited(id string) bool {
	r, err := d.client.ContainerStatus(d.ctx, &cri.ContainerStatusRequest{ContainerId: id})
	return err == nil && r.Status.State == cri.ContainerState_CONTAINER_EXITED
}
