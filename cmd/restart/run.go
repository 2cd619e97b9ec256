package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run [-f FILE] [-- COMMAND…]",
		Short: "Keep commands running",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
