package main
import "github.com/spf13/cobra"
func doctorCommand(s *streams) *cobra.Command { return &cobra.Command{Use:"doctor"} }
