package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE…",
		Short: "Judge what manifests do when something fails",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
