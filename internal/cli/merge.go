package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/reports"
	"parley/reports/diagnosis"
	"parley/runner"
)

func mergeCommand(s *streams) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "merge RESULTS…",
		Short: "Merge the shards of a run",
		Long: `Merge the shards of a run: the results.json of each part that parley run --shard I/N judged, in any
order. The results are those of a single run, with its verdict and exit code. They are written to --out with the
transcripts and the other evidence of all shards, which must be beside each results.json.

All shards must be there, each once, judged by the suite of this program, with the same target, profile and options.
Each shard begins with preflight; its worst outcome counts. A baseline is about the whole, and given here.`,
		Example: `  parley run --target my.yaml --shard 1/2 --out one
  parley run --target my.yaml --shard 2/2 --out two
  parley merge one/results.json two/results.json --out whole`,
		RunE: func(_ *cobra.Command, args []string) error { return o.mergeShards(args, s) },
	}
	f := c.Flags()
	f.StringVar(&o.baseline, "baseline", "", "`FILE` of clauses that are known to fail, as for parley run")
	f.StringVar(&o.out, "out", "parley-results", "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only failures and the verdict")
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"report every failure in full, observations, and clauses that do not apply")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// mergeShards joins the shards in files.
func (o runOptions) mergeShards(files []string, s *streams) error {
	asked, err := parseFormats(o.format)
	switch {
	case err != nil:
		return err
	case len(files) == 0:
		return usagef("merge: no results given (name the results.json of each shard)")
	case o.out == "":
		return usagef("--out: no folder (name one, such as parley-results)")
	case o.quiet && o.verbose:
		return usagef("--quiet: --verbose asks for the opposite (leave one out)")
	}
	baselines, err := loadBaseline(o.baseline)
	if err != nil {
		return err
	}
	parts, err := o.readShards(files)
	if err != nil {
		return err
	}
	joined, err := runner.Join(parts, runner.JoinOptions{Protocols: suite,
		Baseline: func(protocol string) *verdict.Baseline { return o.baselineOf(baselines, protocol) }})
	if err != nil {
		var usage *runner.UsageError
		if errors.As(err, &usage) && !strings.HasPrefix(usage.Msg, "baseline") {
			return usagef("%s", "merge: "+usage.Msg)
		}
		return nameFlag(err)
	}
	kept, err := evidenceOf(joined)
	if err != nil {
		return err
	}
	if err := prepareOut(o.out); err != nil {
		return err
	}
	if err := keepAll(o.out, kept); err != nil {
		return usagef("--out: %v", err)
	}
	res := joined.Results
	diagnosis.Tell(res)
	if err := o.writeResults(asked, res, s); err != nil {
		return err
	}
	if res.Exit != verdict.ExitConformant {
		return exitError{res.Exit}
	}
	return nil
}

// readShards reads the results of shards, none of which may have been edited, or lie where the whole is written.
func (o runOptions) readShards(files []string) ([]runner.Part, error) {
	var out []runner.Part
	for _, name := range files {
		b, err := input.Read(name, maxResults)
		if err != nil {
			return nil, usagef("merge: %v", err)
		}
		res, err := reports.ReadJSON(bytes.NewReader(b))
		if err == nil {
			err = reports.CheckSeal(b)
		}
		if err != nil {
			return nil, usagef("%s: %v", name, err)
		}
		if sameFolder(filepath.Dir(name), o.out) {
			return nil, usagef("--out: %s lies there, and would be overwritten (name another folder)", name)
		}
		out = append(out, runner.Part{Name: name, Results: res})
	}
	return out, nil
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// evidenceOf returns the files of the transcripts and the other evidence of the joined run, by their paths in its
// folder.
func evidenceOf(j *runner.Joined) (map[string]string, error) {
	out := map[string]string{}
	for i, run := range j.Results.Runs {
		for _, sc := range run.Scenarios {
			all := []*reports.Transcript{sc.Transcript, sc.Recording}
			for _, e := range sc.Evidence {
				all = append(all, &reports.Transcript{Path: e.Path, SHA256: e.SHA256})
			}
			for _, t := range all {
				if t == nil {
					continue
				}
				file, err := keptBeside(j.From(i, sc), t)
				if err != nil {
					return nil, err
				}
				out[t.Path] = file
			}
		}
	}
	return out, nil
}

// keptBeside returns the path of a file to which the results in another file refer, after checking its content.
func keptBeside(results string, t *reports.Transcript) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(t.Path)) {
		return "", usagef("%s refers to %s, which is not beside it", results, t.Path)
	}
	path := filepath.Join(filepath.Dir(results), filepath.FromSlash(t.Path))
	sum := sha256.New()
	err := copyTo(sum, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usagef("merge: %s is not beside %s (keep the whole folder of a shard)", t.Path, results)
	case err != nil:
		return "", usagef("merge: %v", err)
	case hex.EncodeToString(sum.Sum(nil)) != t.SHA256:
		return "", usagef("merge: %s beside %s is not what the run wrote", t.Path, results)
	}
	return path, nil
}

func copyTo(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// keepAll copies files to paths below a folder, for their owner alone.
func keepAll(dir string, files map[string]string) error {
	for name, from := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(copyTo(f, from), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
