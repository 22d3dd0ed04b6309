package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/internal/clidoc"
)

// manCommand is hidden: it is for those who package the program.
func manCommand(s *streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:    "man",
		Hidden: true,
		Short:  "Write the man pages of all commands",
		Args:   noArgs,
		RunE:   func(c *cobra.Command, _ []string) error { return man(c.Context(), c.Root(), out, s) },
	}
	c.Flags().StringVar(&out, "out", "", "`DIR` for the pages")
	return c
}

// man writes a page for each command.
func man(_ context.Context, root *cobra.Command, out string, s *streams) error {
	if out == "" {
		return usagef("man: --out is missing (name the folder of the pages, such as share/man/man1)")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return usagef("man: --out: %v", err)
	}
	all := clidoc.Commands(root)
	for _, c := range all {
		err := writeFile(filepath.Join(out, clidoc.ManName(c)), func(w io.Writer) error {
			_, err := io.WriteString(w, clidoc.Man(c, suite.Version))
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.Err, "%d man pages are in %s\n", len(all), out)
	return err
}
