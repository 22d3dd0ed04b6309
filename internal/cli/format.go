package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"parley/internal/differential"
	"parley/internal/input"
	"parley/reports"
	"parley/reports/lang"
	"parley/runner"
	"parley/runner/tags"
)

// Formats of reports, and the files that hold them.
const (
	consoleFormat = "console"
	jsonFormat    = "json"
	githubFormat  = "github" // printed, because GitHub reads it from the output
)

// writer writes results in a format.
type writer = func(io.Writer, *reports.Results) error

var formats = []struct {
	name, file string
	mark       string // in the first 1 KiB of the file
	write      writer // without what is beside the results
}{
	{name: consoleFormat},
	{jsonFormat, "results.json", reports.SchemaID, reports.WriteJSON},
	{"junit", "junit.xml", `<testsuites name="parley"`, reports.WriteJUnit},
	{"html", "report.html", `content="default-src &#39;none&#39;; img-src &#39;self&#39; file:;`, reports.WriteHTML},
	{"markdown", "report.md", reports.MarkdownMark, reports.WriteMarkdown},
	{githubFormat, "", "", reports.WriteGitHub},
	{"cucumber", "cucumber.ndjson", `"implementation":{"name":"parley"`, reports.WriteCucumber},
	{"badge", "badge.svg", `aria-label="parley: `, reports.WriteBadge},
	{"shields", "badge.json", `"label":"parley"`, reports.WriteShields},
}

// defaultFormats are the reports of a run that asks for none.
const defaultFormats = "console,json,junit,html"

// formatNames lists the values of --format.
func formatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ",")
}

// parseFormats parses the value of --format.
func parseFormats(list string) ([]string, error) {
	known := strings.Split(formatNames(), ",")
	var out []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, usagef("--format: unknown format %q%s", name,
				suggestWord(name, known, "known: "+strings.Join(known, ", ")))
		}
		out = append(out, name)
	}
	return withoutDuplicates(out), nil
}

// writerOf returns the writer of a format, in a language if it is for people, for results whose recordings are in a
// folder; "" for none.
func writerOf(name, dir string, l lang.Lang, plain writer) writer {
	switch name {
	case "markdown":
		return func(w io.Writer, r *reports.Results) error { return reports.WriteMarkdownIn(w, r, l) }
	case "html":
		o := reports.PageOptions{Lang: l}
		if dir != "" {
			o.Read = func(path string) ([]byte, error) {
				return input.Read(filepath.Join(dir, filepath.FromSlash(path)), maxRecording)
			}
		}
		return func(w io.Writer, r *reports.Results) error { return reports.WriteHTMLWith(w, r, o) }
	}
	return plain
}

// declareLang defines --lang.
func declareLang(f *pflag.FlagSet, to *string) {
	declareLangOf(f, to, "the reports for people: en or zh; results.json, junit.xml and the like are the same in each")
}

// declareLangOf defines --lang for a command that reports something else; errors are in English in each.
func declareLangOf(f *pflag.FlagSet, to *string, what string) {
	f.StringVar(to, "lang", string(lang.English), "`LANGUAGE` of "+what)
}

// parseLang parses the value of --lang.
func parseLang(name string) (lang.Lang, error) {
	l := lang.Lang(name)
	if !slices.Contains(lang.All, l) {
		return "", usagef("--lang: unknown language %q (known: en, zh)", name)
	}
	return l, nil
}

// maxRecording bounds the bytes of a recording that is read for a report.
const maxRecording = 64 << 20

// writeFiles writes results, whose recordings are in the folder from, to a folder, in each of the named formats that
// has a file.
func writeFiles(dir string, names []string, r *reports.Results, from string, l lang.Lang) error {
	for _, f := range formats {
		if f.file == "" || !slices.Contains(names, f.name) {
			continue
		}
		write := writerOf(f.name, from, l, f.write)
		if err := writeFile(filepath.Join(dir, f.file), func(w io.Writer) error { return write(w, r) }); err != nil {
			return fmt.Errorf("write %s: %w", f.file, err)
		}
	}
	return nil
}

// writeFile writes a file atomically.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no effect after the rename
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ownFiles checks that reports in a folder, of the named formats or of all, are from an earlier run: files of others
// would be overwritten.
func ownFiles(dir string, names []string) error {
	for _, f := range formats {
		if f.file == "" || names != nil && !slices.Contains(names, f.name) {
			continue
		}
		if err := ownFile(filepath.Join(dir, f.file), f.mark); err != nil {
			return err
		}
	}
	if names != nil {
		return nil
	}
	if err := ownFile(filepath.Join(dir, differentialJSON), differential.SchemaID); err != nil {
		return err
	}
	return ownFile(filepath.Join(dir, differentialPage), "# Where two implementations of ")
}

// formerIDs is in the first lines of what earlier programs wrote.
const formerIDs = `"schema": "https://parley.dev/schema/`

func ownFile(path, mark string) error {
	head, err := headOf(path)
	switch {
	case err != nil && !os.IsNotExist(err):
		return usagef("--out: %v", err)
	case head != "" && !strings.Contains(head, mark) && !strings.Contains(head, formerIDs):
		return usagef("--out: %s is not a report of %s, and would be overwritten (name another folder)", path, program)
	}
	return nil
}

// headOf returns the first bytes of a regular file.
func headOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return string(head), err
}

// removeFiles removes the reports of an earlier run from a folder.
func removeFiles(dir string) error {
	for _, f := range formats {
		if f.file == "" {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.file)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	for _, name := range []string{differentialJSON, differentialPage} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// writeOut writes results to stdout in one format. Dir is the folder of their files, as the user would type it.
func (s *streams) writeOut(name string, r *reports.Results, o reports.ConsoleOptions) error {
	if name == consoleFormat {
		o.Width = s.OutWidth
		o.Color = o.Color && s.Color && s.OutTTY
		return reports.WriteConsole(s.Out, r, o)
	}
	for _, f := range formats {
		if f.name == name {
			return writerOf(name, o.Dir, o.Lang, f.write)(s.Out, r)
		}
	}
	return fmt.Errorf("no writer for format %q", name)
}

// takePlainArgs takes the plain arguments of parley run: the target, and the ids of clauses and scenarios, in any
// order.
func (o *runOptions) takePlainArgs(args []string) error {
	var ids []string
	for _, arg := range args {
		id := clauseID(arg)
		switch {
		case tags.IsID(id) && !fileExists(arg):
			ids = append(ids, id)
		case o.target != "":
			return usagef("parley run judges one target, found %q beside %q (see parley run --help)", arg, o.target)
		default:
			o.target = arg
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := o.protocolOf(ids); err != nil {
		return err
	}
	o.ids, o.besides = ids, o.tags
	chosen := strings.Join(ids, " or ")
	if o.tags != "" {
		chosen = fmt.Sprintf("(%s) and (%s)", chosen, o.tags)
	}
	o.tags = chosen
	return nil
}

// protocolOf has a URL without --protocol judged by the protocol that the ids belong to, and rejects an id that no
// protocol has.
func (o *runOptions) protocolOf(ids []string) error {
	var found []string
	for _, id := range ids {
		protocol := suite.OfClause(id)
		if protocol == "" {
			return unknownID("clause or scenario", id, id, nil)
		}
		found = append(found, protocol)
	}
	if found = withoutDuplicates(found); len(found) == 1 && len(o.protocols) == 0 && isURL(o.target) {
		o.protocols = found
	}
	return nil
}

// knownIDs rejects a plain id that no clause and no scenario has. Random sequences and cuts have ids of their own.
func (o runOptions) knownIDs() error {
	if o.exploring || o.cutPoints {
		return nil
	}
	for _, id := range o.ids {
		books, err := openBooks(suite.Naming(id))
		if err != nil {
			return err
		}
		var others []string
		found := len(findClause(books, id)) > 0
		for _, b := range books {
			for _, p := range b.scenarios {
				found = found || slices.Contains(p.Marks(), "@"+id)
				others = append(others, p.ID)
			}
		}
		if !found {
			return unknownID("clause or scenario", id, id, others)
		}
	}
	return nil
}

// nothingSelected says of an error that nothing is selected what was given: plain ids, and --tags.
func (o runOptions) nothingSelected(err error) error {
	var usage *runner.UsageError
	if len(o.ids) == 0 || !errors.As(err, &usage) || !strings.Contains(usage.Msg, "selects no scenario") {
		return err
	}
	if _, elsewhere, is := strings.Cut(usage.Msg, "selects no scenario "); is && strings.HasPrefix(elsewhere, "of ") {
		return usagef("%s", strings.Join(o.ids, " ")+" selects no scenario "+elsewhere)
	}
	if o.besides != "" {
		return usagef("%s with --tags %q selects no scenario (leave one out; parley list --scenarios shows the tags)",
			strings.Join(o.ids, " "), o.besides)
	}
	return usagef("%s: no scenario judges it here (parley explain %[1]s shows what does)", strings.Join(o.ids, " "))
}

// asURL completes the address of a target that has no scheme: localhost:3000 is http://localhost:3000. What names a
// file, or is no address, stays as it is.
func asURL(name string) string {
	if rest, ok := strings.CutPrefix(name, "unix:/"); ok && !strings.HasPrefix(rest, "/") {
		return "unix:///" + rest
	}
	host, path, _ := strings.Cut(name, "/")
	if strings.Contains(name, "://") || fileExists(name) {
		return name
	}
	h, port, err := net.SplitHostPort(host)
	if err != nil || h == "" || port == "" || strings.Trim(port, "0123456789") != "" {
		return name
	}
	if path != "" {
		path = "/" + path
	}
	return "http://" + host + path
}

func isURL(name string) bool { return strings.Contains(asURL(name), "://") }

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
