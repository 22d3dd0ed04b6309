package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/internal/input"
	"parley/steps/pack"
	"parley/transport/recording"
)

func newProtocolCommand(s *streams) *cobra.Command {
	from, origin := "", ""
	c := &cobra.Command{
		Use:   "new FOLDER",
		Short: "Begin a protocol of your own: a folder to change step by step",
		Long: `Write a protocol as a folder, named as the protocol: its messages and rules, clauses, scenarios, a script that
plays its server and faults of it. It is complete, so that each change can be tried at once:

  parley run --protocol ./FOLDER       judge the server of the folder
  parley mutants --protocol ./FOLDER   do its scenarios find faults?

With --from the messages are those of an AsyncAPI 3 document, or of a recording or HAR file: where they pass, their
members, and a JSON Schema of each. Ids that the server told clients become holes. What the server owes on which of
them is left to write. If a HAR file has several servers, --origin names one.

JSON Schemas for editors are in FOLDER/schemas. Nothing is overwritten.`,
		Example: "  parley new my-protocol\n  parley new my-protocol --from asyncapi.yaml\n" +
			"  parley new my-protocol --from recording.jsonl",
		Args: exactlyOneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			return writeProtocol(c.Context(), args[0], from, origin, s)
		},
	}
	c.Flags().StringVar(&from, "from", "", "take the messages from `FILE`: an AsyncAPI document, a recording or HAR")
	c.Flags().StringVar(&origin, "origin", "", "`URL` of the server in a HAR file, such as http://localhost:3000")
	return c
}

func exactlyOneFolder(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("new: give one folder, named as the protocol (parley new my-protocol)")
	}
	return nil
}

// draftFiles returns the files of a new folder, with the messages of a file if one is named.
func draftFiles(ctx context.Context, id, from, origin string, s *streams) (map[string][]byte, error) {
	if from == "" {
		return pack.Draft(id)
	}
	var sketch *pack.Sketch
	switch strings.ToLower(filepath.Ext(from)) {
	case ".yaml", ".yml", ".json":
		text, err := input.Read(from, maxAsyncAPI)
		if err != nil {
			return nil, err
		}
		if sketch, err = pack.FromAsyncAPI(filepath.Base(from), text); err != nil {
			return nil, err
		}
	default:
		f := &judgedFile{name: from}
		defer f.close()
		in, err := f.open(ctx, recordingJudgeOptions{origin: origin}, s)
		if err != nil {
			return nil, err
		}
		if sketch, err = pack.FromRecords(filepath.Base(from), recording.NewClientView(in).Next); err != nil {
			return nil, err
		}
	}
	return pack.DraftFrom(id, sketch)
}

// maxAsyncAPI bounds an AsyncAPI document, in bytes.
const maxAsyncAPI = 1 << 20

// writeProtocol writes a new folder of a protocol.
func writeProtocol(ctx context.Context, folder, from, origin string, s *streams) error {
	files, err := draftFiles(ctx, filepath.Base(filepath.Clean(folder)), from, origin, s)
	if err != nil {
		return usagef("new: %v", err)
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return usagef("new: %s is not empty (name another folder)", folder)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("new: %v", err)
	}
	var all []newFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.MkdirAll(filepath.Join(folder, filepath.FromSlash(path.Dir(name))), 0o755); err != nil {
			return fmt.Errorf("new: %w", err)
		}
		all = append(all, newFile{filepath.Join(folder, filepath.FromSlash(name)), files[name], 0o644})
	}
	if err := writeTogether(all...); err != nil {
		return err
	}
	named := shellWord(folder)
	if !isFolder(folder) {
		named = "./" + named
	}
	if from != "" {
		named += " --target URL"
	}
	_, err = fmt.Fprintf(s.Out, "%s is written; next: %s run --protocol %s\n", folder, program, named)
	return err
}
