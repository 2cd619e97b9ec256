package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func pageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "page",
		Short: "Serve the playground for a browser",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
