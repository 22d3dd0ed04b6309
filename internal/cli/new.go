package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"parley/steps/pack"
)

func newProtocolCommand(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "new FOLDER",
		Short: "Begin a protocol of your own: a folder to change step by step",
		Long: `Write a protocol as a folder, named as the protocol: its messages and rules, clauses, scenarios, a script that
plays its server and faults of it. It is complete, so that each change can be tried at once:

  parley run --protocol ./FOLDER       judge the server of the folder
  parley mutants --protocol ./FOLDER   do its scenarios find faults?

JSON Schemas for editors are in FOLDER/schemas. Nothing is overwritten.`,
		Example: "  parley new my-protocol",
		Args:    exactlyOneFolder,
		RunE:    func(_ *cobra.Command, args []string) error { return writeProtocol(args[0], s) },
	}
}

func exactlyOneFolder(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("new: give one folder, named as the protocol (parley new my-protocol)")
	}
	return nil
}

// writeProtocol writes a new folder of a protocol.
func writeProtocol(folder string, s *streams) error {
	files, err := pack.Draft(filepath.Base(filepath.Clean(folder)))
	if err != nil {
		return usagef("new: %v", err)
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return usagef("new: %s is not empty (name another folder)", folder)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("new: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "schemas"), 0o755); err != nil {
		return fmt.Errorf("new: %w", err)
	}
	var all []newFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, newFile{filepath.Join(folder, filepath.FromSlash(name)), files[name], 0o644})
	}
	if err := writeTogether(all...); err != nil {
		return err
	}
	named := shellWord(folder)
	if !isFolder(folder) {
		named = "./" + named
	}
	_, err = fmt.Fprintf(s.Out, "%s is written; next: %s run --protocol %s\n", folder, program, named)
	return err
}
