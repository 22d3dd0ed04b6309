package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"parley/internal/input"
	"parley/reports"
	"parley/reports/lang"
	"parley/runner"
)

// runOptions are the flags of parley run.
type runOptions struct {
	protocols, drivers, roles []string
	target, tags, baseline    string
	writeBaseline             string
	targetVersion             string
	ids                       []string // plain arguments, which tags contains
	besides                   string   // --tags, where there are ids
	features                  []string
	faults                    string
	out, format               string
	strict, allowIncomplete   bool
	verbose, noColor          bool
	concurrency, explore      int
	exploring                 bool // --explore was given
	cutPoints                 bool
	differential              bool
	link                      linkOptions
	quiet, failFast, watch    bool
	shard                     string
	suite                     string // the version or digest that must judge
	lang                      string
	spoken                    lang.Lang // what lang names
	seed                      int64
	deadline                  time.Duration
}

// declareFlags defines the flags of a run.
func (o *runOptions) declareFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.protocols, "protocol", nil,
		"`PROTOCOL` to judge by; may be repeated (default that of the target; all without --target)")
	f.StringVar(&o.target, "target", "",
		"profile `FILE|URL` of the target, or the folder of a page (default the bundled targets)")
	o.link.declareFlags(f)
	f.StringVar(&o.targetVersion, "target-version", "",
		"`VERSION` of the target, for the reports that compare versions")
	f.StringSliceVar(&o.drivers, "driver", nil,
		"`DRIVER` to test over: sse, ws, stdio, post, browser, r3labs, or all; may be repeated "+
			"(default those that the target declares; all adds r3labs to sse)")
	f.StringSliceVar(&o.roles, "role", nil,
		"`ROLE` of the target: server, client, host, relay, agent, or all; may be repeated without --target "+
			"(default that of the profile; without one, the first role of the protocol: server, client or host)")
	f.StringArrayVar(&o.features, "features", nil,
		"run the scenarios of `FILE|DIR` instead of the suite's; with --features suite, besides them; may be repeated; "+
			"such a run never certifies")
	f.StringVar(&o.faults, "faults", "",
		"inject the faults in `FILE` between the harness and the target; such a run never certifies")
	f.StringVar(&o.tags, "tags", "",
		"run only scenarios whose tags match `EXPR`, such as 'AS-042 and not @exclusive', @MUST or @4.1; makes the run "+
			"incomplete")
	f.BoolVar(&o.strict, "strict", false,
		"count a broken SHOULD as a failure, and read conflicting clauses strictly")
	f.IntVar(&o.concurrency, "concurrency", 0, "run `N` scenarios in parallel (default what the profile allows)")
	f.StringVar(&o.baseline, "baseline", "",
		"`FILE` of clauses that are known to fail: if they fail and nothing else does, "+
			"the verdict is as-expected, exit 0; rows of protocols that are not run are ignored")
	f.StringVar(&o.writeBaseline, "write-baseline", "",
		"write `FILE`, a baseline of all clauses that fail; it must not exist yet")
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "exit 0 if nothing failed, even if not everything was tested")
	f.IntVar(&o.explore, "explore", 0,
		"run `N` random sequences after the scenarios, and shrink the first one that "+
			"breaks a clause; --tags @explored runs only these")
	f.BoolVar(&o.cutPoints, "cut-points", false,
		"after the scenarios, cut a connection after each record of a course, by reset, close, FIN and kill, and judge "+
			"what follows; --tags @cut runs only this")
	f.BoolVar(&o.differential, "differential", false,
		"run two targets under the same scenarios and list where they differ: --differential A B, each a FILE|URL, "+
			"bundled, or the name of a mutant")
	f.StringVar(&o.suite, "suite", "",
		"judge by the suite with this `VERSION` or digest, or not at all: refused unless this program has it")
	f.DurationVar(&o.deadline, "deadline", 0,
		"end the run after `TIME`, such as 5m, whatever the targets do; what is not judged by then is not tested "+
			"(default 30m, or twice limits.scenario if that is longer)")
	f.Int64Var(&o.seed, "seed", 0, "seed `NUMBER` of the random sequences")
	f.StringVar(&o.out, "out", "parley-results", "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.BoolVar(&o.failFast, "fail-fast", false,
		"begin no more scenarios once a clause has failed; such a run is never conformant")
	f.BoolVar(&o.watch, "watch", false,
		"judge again whenever the profile, the folder of a page or the command's files change, until Ctrl-C")
	f.StringVar(&o.shard, "shard", "",
		"run the part `I/N` of the scenarios, such as 2/4; incomplete until parley merge puts all parts together")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only failures and the verdict")
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"report every failure in full, observations, and clauses that do not apply")
	declareLang(f, &o.lang)
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
}

// prepareOut creates the results folder, and removes the reports of an earlier run.
func prepareOut(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file (name a folder)", dir)
	}
	if err := ownFiles(dir, nil); err != nil {
		return err
	}
	if err := runner.PrepareOut(dir); err != nil {
		return usagef("--out: %v", err)
	}
	if err := removeFiles(dir); err != nil {
		return usagef("--out: %v", err)
	}
	return nil
}

// writeResults writes the results, and prints the report: on the console, or as JSON if only that is asked for. It
// prints the report even if the files could not be written, as on a full disk.
func (o runOptions) writeResults(asked []string, r *reports.Results, s *streams) error {
	unwritten := errors.Join(writeFiles(o.out, append([]string{jsonFormat}, asked...), r, o.out, o.spoken),
		appendSummary(asked, r, o.spoken))
	return errors.Join(o.printReport(asked, r, unwritten == nil, s.forPeople(asked), s), printAnnotations(asked, r, s),
		unwritten)
}

// printReport prints the report, or only the verdict if the report is in files. JSON goes to the raw streams, as it is.
func (o runOptions) printReport(asked []string, r *reports.Results, written bool, s, raw *streams) error {
	if !written {
		o.out = "" // there is nothing to refer to
	}
	switch {
	case slices.Contains(asked, consoleFormat):
		return s.writeOut(consoleFormat, r, reports.ConsoleOptions{Dir: o.out, Verbose: o.verbose, Quiet: o.quiet,
			Color: !o.noColor, Lang: o.spoken, Function: stepFunctions()})
	case len(asked) == 1 && asked[0] == jsonFormat:
		if err := raw.writeOut(jsonFormat, r, reports.ConsoleOptions{}); err != nil {
			return err
		}
	}
	l := o.spoken
	if written {
		fmt.Fprintln(s.Err, l.Say(string(r.Verdict))+l.Say(" · exit %d", r.Exit)+l.Say(" · results in %s", o.out))
	} else {
		fmt.Fprintln(s.Err, l.Say(string(r.Verdict))+l.Say(" · the results could not be written"))
	}
	return nil
}

// newFile is a file to be written.
type newFile struct {
	path string
	body []byte
	mode fs.FileMode
}

// writeTogether writes all files or none: each goes to a temporary file beside its place, on the disk, before the
// first one gets its name. It replaces files of these names.
func writeTogether(files ...newFile) (err error) {
	var temps []string
	defer func() {
		for _, name := range temps {
			_ = os.Remove(name) // no effect after the rename
		}
	}()
	for _, f := range files {
		name, err := stageFile(f)
		if name != "" {
			temps = append(temps, name)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	for i, f := range files {
		if err := os.Rename(temps[i], f.path); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	return nil
}

// stageFile writes a file under a temporary name.
func stageFile(f newFile) (name string, err error) {
	t, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+"-")
	if err != nil {
		return "", err
	}
	_, err = t.Write(f.body)
	err = errors.Join(err, t.Chmod(f.mode), t.Sync(), t.Close())
	return t.Name(), err
}

// suiteFeatures is the value of --features that selects the suite's own scenarios.
const suiteFeatures = "suite"

// maxFeature bounds a feature file.
const maxFeature = 1 << 20

// ownFeatures reads the files that --features names, and those in the folders that it names, in the order of their
// names; beside reports whether the suite's scenarios run too.
func ownFeatures(names []string) (own []runner.OwnFeature, beside bool, err error) {
	for _, name := range names {
		if name == suiteFeatures {
			beside = true
			continue
		}
		files, err := featureFiles(name)
		if err != nil {
			return nil, false, err
		}
		for _, file := range files {
			text, err := input.Read(file, maxFeature)
			if err != nil {
				return nil, false, usagef("--features: %v", err)
			}
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			own = append(own, runner.OwnFeature{Path: filepath.ToSlash(file), Text: text})
		}
	}
	if beside && len(own) == 0 {
		return nil, false, usagef("--features suite: no files of your own are given (name them too, or leave it out)")
	}
	return own, beside, nil
}

// featureFiles are a file, or the *.feature files below a folder.
func featureFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("--features: there is no file or folder %s", name)
	case err != nil:
		return nil, usagef("--features: %v", err)
	case !info.IsDir():
		return []string{name}, nil
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".feature") {
			files = append(files, path)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, usagef("--features: %v", err)
	case len(files) == 0:
		return nil, usagef("--features: there is no *.feature file below %s", name)
	}
	return files, nil
}
