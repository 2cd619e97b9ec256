package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func retryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "retry [flags] -- COMMAND…",
		Short: "Run a command until it succeeds",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
