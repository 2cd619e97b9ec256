package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func jobCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "job FILE",
		Short: "Run a Job here, with processes for pods",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
