package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch --endpoint URL",
		Short: "Show lifecycle events and exits of a node's containers",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
