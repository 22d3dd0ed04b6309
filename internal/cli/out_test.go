package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
	"parley/runner"
)

// TestOutKeepsForeignFiles checks that --out overwrites reports of an earlier run, and nothing else of their names.
func TestOutKeepsForeignFiles(t *testing.T) {
	res := &reports.Results{Verdict: verdict.Conformant}
	for _, f := range formats {
		if f.file == "" {
			continue
		}
		dir := t.TempDir()
		if err := writeFiles(dir, []string{f.name}, res, "", ""); err != nil {
			t.Fatal(err)
		}
		if err := prepareOut(dir); err != nil {
			t.Errorf("%s of an earlier run: %v", f.file, err)
		}
		path, foreign := filepath.Join(dir, f.file), []byte("{\"mine\": true}\n")
		if err := os.WriteFile(path, foreign, 0o600); err != nil {
			t.Fatal(err)
		}
		var usage *runner.UsageError
		if err := prepareOut(dir); !errors.As(err, &usage) || !strings.Contains(err.Error(), f.file+" is not a report") {
			t.Errorf("%s of somebody else: %v", f.file, err)
		}
		if err := ownFiles(dir, []string{f.name}); !errors.As(err, &usage) {
			t.Errorf("report --out, %s of somebody else: %v", f.file, err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, foreign) {
			t.Errorf("%s was changed: %q, %v", f.file, got, err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if err := prepareOut(dir); err != nil {
			t.Errorf("an empty %s: %v", f.file, err)
		}
	}
}

// TestFullDisk checks that the verdict is printed if the files of the results cannot be written, and that the command
// fails all the same.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone") // a file that cannot be made, as on a full disk
	res := &reports.Results{Verdict: verdict.NonConformant, Exit: verdict.ExitNonConformant}
	for _, format := range []string{consoleFormat, "junit", jsonFormat} {
		var out, errs bytes.Buffer
		s := &streams{Out: &out, Err: &errs, OutWidth: 120}
		err := runOptions{out: dir, noColor: true}.writeResults([]string{format}, res, s)
		if exitCode(err) != verdict.ExitHarness || !strings.Contains(err.Error(), "write results.json") {
			t.Errorf("%s: %v", format, err)
		}
		if said := out.String() + errs.String(); !strings.Contains(strings.ToLower(said), "non-conformant") {
			t.Errorf("%s: the verdict is not printed: %q", format, said)
		}
		if strings.Contains(out.String()+errs.String(), "results in") {
			t.Errorf("%s: it names results that do not exist: %q", format, out.String()+errs.String())
		}
	}
}
