package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// startEtcd starts an etcd in an empty folder. stop ends it and removes the folder.
func startEtcd(ctx context.Context, program string) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := listener.Addr().String()
	listener.Close()
	data, err := os.MkdirTemp("", "upstream-etcd-")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, program, "--data-dir="+data, "--listen-client-urls=http://"+address,
		"--advertise-client-urls=http://"+address, "--listen-peer-urls=http://127.0.0.1:0", "--logger=zap", "--log-level=error")
	if err := cmd.Start(); err != nil {
		os.RemoveAll(data)
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // killed
		close(ended)
	}()
	stop = func() {
		cmd.Process.Kill()
		<-ended
		os.RemoveAll(data)
	}
	for {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return "http://" + address, stop, nil
		}
		select {
		case <-ended:
			stop()
			return "", nil, fmt.Errorf("etcd has ended: %v", cmd.ProcessState)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
