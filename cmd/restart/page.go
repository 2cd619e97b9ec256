package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/cmd/internal/page"
)

// usualAddress is the default of --addr. Links to the page hold its port, so it should
// stay the same.
const usualAddress = "127.0.0.1:8017"

func pageCommand() *cobra.Command {
	address, open := usualAddress, false
	c := &cobra.Command{
		Use:   "page",
		Short: "Serve the playground for a browser",
		Long: `page serves a page on this machine, prints its address, and answers until it is
interrupted. On the page you check manifests as with restart check, try failed
pods on a Job, run the Job in virtual time step by step, and compare delay curves.

Your input goes from the browser to this program and nowhere else. The page is
served on a loopback address only, and requests of other sites are refused. If
the usual port is taken, page takes a free one and says so.`,
		SuggestFor: []string{"serve", "playground", "ui", "web"},
		Annotations: map[string]string{exitCodes: `  0  interrupted
  1  the address cannot be used
  2  a flag is wrong
  3  the output could not be written`},
		Example: `  restart page --open
  restart page --addr 127.0.0.1:0`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return servePage(c, address, open) },
	}
	c.Flags().StringVar(&address, "addr", usualAddress, "loopback `ADDRESS` to serve at; port 0 picks a free one")
	c.Flags().BoolVar(&open, "open", false, "open the page in the browser")
	return c
}

func servePage(c *cobra.Command, address string, open bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usageError("--addr %s: must be an address and a port, such as %s", address, usualAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return usageError("--addr %s: must be a loopback address, such as %s", address, usualAddress)
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) && !c.Flags().Changed("addr") {
		fmt.Fprintf(c.ErrOrStderr(), "restart page: %s is in use, so another port is taken\n", address)
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	defer listener.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	url := fmt.Sprintf("http://%s/", listener.Addr())
	if _, err := fmt.Fprintln(c.OutOrStdout(), url); err != nil {
		return nil // the program's output keeps the error
	}
	if open {
		if err := openBrowser(url); err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "restart page: cannot open the browser: %v\n", err)
		}
	}
	return page.Serve(ctx, listener)
}

// openBrowser opens a URL in the user's browser.
func openBrowser(url string) error {
	switch runtime.GOOS {
	case "darwin":
		return exec.Command("open", url).Start()
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", url).Start()
	}
	return exec.Command("xdg-open", url).Start()
}
