package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func curveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "curve [PRESET…]",
		Short: "Show the delays of a curve, as a table or a picture",
		RunE:  func(*cobra.Command, []string) error { return errors.New("not written yet") },
	}
}
