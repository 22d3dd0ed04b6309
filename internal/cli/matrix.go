package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/reports"
)

// matrixFormats are the formats of the matrix, with their files.
var matrixFormats = []struct {
	name, file, mark string
	write            func(io.Writer, *reports.Matrix) error
}{
	{"markdown", "matrix.md", reports.MarkdownMark, reports.WriteMatrixMarkdown},
	{"html", "matrix.html", `content="default-src &#39;none&#39;; img-src &#39;self&#39; file:;`, reports.WriteMatrixHTML},
}

// matrix writes what several runs found, side by side.
func matrix(ctx context.Context, paths []string, o reportOptions, chosen bool, s *streams) error {
	asked := []string{"markdown"}
	if chosen {
		asked = unique(strings.Split(o.format, ","))
	}
	for _, name := range asked {
		if name != "markdown" && name != "html" {
			return usagef("--format: the matrix of several runs is written as markdown or html, not %q", name)
		}
	}
	spoken, err := parseLang(o.lang)
	switch {
	case err != nil:
		return err
	case o.from != "":
		return usagef("report: --from and arguments cannot be combined (name all results as arguments)")
	case o.out == "" && len(asked) > 1:
		return usagef("report: %d formats cannot all be printed (name a folder with --out, or one format)", len(asked))
	}
	var list []*reports.Results
	for _, path := range paths {
		r, err := readResults(ctx, path)
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	m := reports.NewMatrixIn(spoken, list...)
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return usagef("--out: %v", err)
		}
	}
	for _, f := range matrixFormats {
		if !slices.Contains(asked, f.name) {
			continue
		}
		if o.out == "" {
			return f.write(s.Out, m)
		}
		path := filepath.Join(o.out, f.file)
		if err := ownFile(path, f.mark); err != nil {
			return err
		}
		if err := writeFile(path, func(w io.Writer) error { return f.write(w, m) }); err != nil {
			return fmt.Errorf("write %s: %w", f.file, err)
		}
	}
	return nil
}
