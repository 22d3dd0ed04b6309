package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"parley/internal/words"
	"parley/reports"
)

// listedMutant is a row of the list of mutants, as --json prints it.
type listedMutant struct {
	Protocol string   `json:"protocol"`
	Role     string   `json:"role"`
	ID       string   `json:"id"`
	Why      string   `json:"why"`
	Clauses  []string `json:"clauses"` // that it breaks
}

// listMutants lists the mutants of catalogues, and runs none.
func listMutants(all []catalogue, asJSON bool, s *streams) error {
	rows, roles := []listedMutant{}, map[string]bool{}
	for _, c := range all {
		roles[titleWithRole(c.protocol, c.role)] = true
		for _, m := range c.mutants {
			rows = append(rows, listedMutant{c.protocol, c.role, m.ID, m.Why, append([]string{}, m.Clauses...)})
		}
	}
	if asJSON {
		return s.writeJSON(rows)
	}
	of := func(string) string { return "" }
	if len(roles) > 1 {
		of = func(text string) string { return text + "\t" }
	}
	out := bufio.NewWriter(s.Out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "MUTANT\t%sCLAUSES\tFAULT\n", of("OF"))
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s%s\t%s\n", r.ID, of(titleWithRole(r.Protocol, r.Role)), strings.Join(r.Clauses, ","),
			r.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", words.Counted(len(rows), "mutant"))
	return out.Flush()
}

// matrixFormats are the formats of the matrix, with their files.
var matrixFormats = []struct {
	name, file, mark string
	write            func(io.Writer, *reports.Matrix) error
}{
	{"markdown", "matrix.md", reports.MarkdownMark, reports.WriteMatrixMarkdown},
	{"html", "matrix.html", `content="default-src &#39;none&#39;; img-src &#39;self&#39; file:;`, reports.WriteMatrixHTML},
}

// writeMatrix writes what several runs found, side by side.
func writeMatrix(ctx context.Context, paths []string, o reportOptions, chosen bool, s *streams) error {
	asked := []string{"markdown"}
	if chosen {
		asked = withoutDuplicates(strings.Split(o.format, ","))
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
