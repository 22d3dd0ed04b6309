package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/input"
	"parley/internal/words"
	"parley/steps"
)

// checkLogOptions are the flags of parley check-log.
type checkLogOptions struct {
	session, format string
	complete        bool
}

// textFormat is the output format for people; jsonFormat is the other one.
const textFormat = "text"

func checkLogCommand(judge steps.LogJudge, s *streams) *cobra.Command {
	var o checkLogOptions
	what, by := judge.AboutLogs()
	c := &cobra.Command{
		Use:   "check-log FILE|DIR…",
		Short: "Judge " + what,
		Long: "Judge " + by + `.

Every *.jsonl file below a folder is judged. No target is needed, and the logs are not compared with recorded
traffic.

There is one line per file with its verdict, and one per finding with the place in the file, the clause, the
expectation and the observation. A truncated last line is a warning, or a finding with --complete. Notes report
what no clause forbids.

With --format json the output is one object:

  {"files": [{
    "file":     name of the file
    "verdict":  fine, findings, empty (no event, so nothing was judged)
                or unreadable
    "session":  the expected sessionId; without --session that of line 1
    "sessions": every sessionId in the file, at most 16
    "lines":    number of lines
    "events":   number of lines that are JSON objects
    "clauses":  [{"clause", "kept", "broken"}], counts of the judged clauses
    "findings": [{"clause", "line", "expected", "observed"}], at most 100 per
                clause; line 0 is the whole file
    "dropped":  number of further findings
    "notes":    [{"line", "count", "text"}]
    "torn":     {"line", "bytes", "start"} of a truncated last line
    "error":    why the file could not be read
  }]}

Exit codes: 0 no findings · 1 findings · 2 wrong usage or an unreadable file · 5 no findings, but a log without
events, so nothing in it was judged.`,
		Example: `  parley check-log logs/study
  parley check-log --complete --session s-20260213-001 logs/study/s-20260213-001.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return checkLog(c.Context(), judge, args, o, s) },
	}
	f := c.Flags()
	f.StringVar(&o.session, "session", "", "judge only the lines of the session `ID` (default all)")
	f.BoolVar(&o.complete, "complete", false,
		"the sessions have ended: a log without events or with a truncated last line is a finding")
	f.StringVar(&o.format, "format", textFormat, "`FORMAT` to print: text or json")
	return c
}

// logJudge returns the first protocol that can judge logs; nil if there is none.
func logJudge() steps.LogJudge {
	for _, p := range suite.All {
		if judge, ok := p.(steps.LogJudge); ok {
			return judge
		}
	}
	return nil
}

func checkLog(ctx context.Context, judge steps.LogJudge, args []string, o checkLogOptions, s *streams) error {
	known := []string{textFormat, jsonFormat}
	switch {
	case len(args) == 0:
		return usagef("check-log: no log given (name files, or folders that contain *.jsonl)")
	case !slices.Contains(known, o.format):
		return usagef("--format: unknown format %q%s", o.format,
			suggestWord(o.format, known, "known: "+strings.Join(known, ", ")))
	}
	files, err := logFiles(args)
	if err != nil {
		return err
	}
	var out struct {
		Files []steps.LogReport `json:"files"`
	}
	for _, name := range files {
		l := judgeLog(ctx, judge, name, o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.Files = append(out.Files, l)
		if o.format == textFormat {
			if err := printLog(s.Out, l); err != nil {
				return err
			}
		}
	}
	if o.format == jsonFormat {
		err = s.writeJSON(out)
	} else {
		err = printLogs(s.Out, out.Files)
	}
	if err != nil {
		return err
	}
	return logsExit(out.Files)
}

// logsExit returns the exit code of a check. Unreadable logs come first, then findings, then logs that were not
// judged.
func logsExit(logs []steps.LogReport) error {
	code := verdict.ExitConformant
	for _, l := range logs {
		switch {
		case l.Verdict == steps.LogUnreadable:
			return exitError{verdict.ExitUsage}
		case l.Verdict == steps.LogFindings:
			code = verdict.ExitNonConformant
		case l.Verdict == steps.LogEmpty && code == verdict.ExitConformant:
			code = verdict.ExitIncomplete
		}
	}
	if code == verdict.ExitConformant {
		return nil
	}
	return exitError{code}
}

// logFiles returns the named files, and the logs in the named folders.
func logFiles(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, usagef("check-log: %v", err)
		}
		if !info.IsDir() {
			out = append(out, arg)
			continue
		}
		below, err := logsBelow(arg)
		if err != nil {
			return nil, usagef("check-log: %v", err)
		}
		if len(below) == 0 {
			return nil, usagef("check-log: no *.jsonl below %s", arg)
		}
		out = append(out, below...)
	}
	return withoutDuplicates(out), nil
}

// logsBelow finds *.jsonl in a folder and its subfolders. It skips entries that are not regular files, such as a
// pipe.
func logsBelow(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".jsonl" {
			return err
		}
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

func judgeLog(ctx context.Context, judge steps.LogJudge, name string, o checkLogOptions) steps.LogReport {
	f, err := input.Open(ctx, name)
	if err != nil {
		return steps.LogReport{File: plainName(name), Verdict: steps.LogUnreadable, Error: plainName(err.Error()),
			Sessions: []string{}, Clauses: []steps.LogTally{}, Findings: []steps.LogFinding{}, Notes: []steps.LogNote{}}
	}
	defer f.Close()
	l := judge.CheckLog(f, o.session, o.complete)
	if l.Events == 0 && l.Verdict == steps.LogFindings && filepath.Ext(name) != ".jsonl" { // such as a profile
		l.Verdict, l.Error = steps.LogUnreadable, "this is not a log: no line of it is a JSON object (name a *.jsonl file)"
		l.Findings, l.Dropped, l.Clauses, l.Notes = []steps.LogFinding{}, 0, []steps.LogTally{}, []steps.LogNote{}
	}
	l.File, l.Session, l.Error = plainName(name), plainName(l.Session), plainName(l.Error)
	return l
}

// printLog writes the verdict on a log, with its findings and notes.
func printLog(w io.Writer, l steps.LogReport) error {
	found := words.Counted(len(l.Findings)+l.Dropped, "finding")
	verdicts := map[string]string{
		steps.LogFine: fmt.Sprintf("fine: %s of session %s, %s judged",
			words.Counted(l.Events, "event"), l.Session, words.Counted(len(l.Clauses), "clause")),
		steps.LogFindings:   found + " in " + words.Counted(l.Events, "event"),
		steps.LogEmpty:      "empty: no events, so nothing was judged",
		steps.LogUnreadable: "cannot be read: " + l.Error,
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", l.File, verdicts[l.Verdict])
	at := func(line int) string {
		if line == 0 {
			return "  " + l.File
		}
		return fmt.Sprintf("  %s:%d", l.File, line)
	}
	for _, f := range l.Findings {
		fmt.Fprintf(&b, "%s: %s: expected %s; found %s\n", at(f.Line), f.Clause, f.Expected, f.Observed)
	}
	told := l.Torn != nil && slices.ContainsFunc(l.Findings,
		func(f steps.LogFinding) bool { return f.Line == l.Torn.Line })
	if l.Dropped > 0 {
		fmt.Fprintf(&b, "  and %d more\n", l.Dropped)
	}
	if l.Torn != nil && !told {
		fmt.Fprintf(&b, "%s: warning: ends in a truncated line (crash?): %s\n", at(l.Torn.Line), l.Torn.Start)
	}
	for _, n := range l.Notes {
		times := ""
		if n.Count > 1 {
			times = fmt.Sprintf(" (%d times)", n.Count)
		}
		fmt.Fprintf(&b, "%s: note: %s%s\n", at(n.Line), n.Text, times)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printLogs counts the verdicts of several logs.
func printLogs(w io.Writer, logs []steps.LogReport) error {
	if len(logs) < 2 {
		return nil
	}
	var parts []string
	for _, v := range []struct{ verdict, words string }{{steps.LogFine, "fine"}, {steps.LogFindings, "with findings"},
		{steps.LogEmpty, "empty"}, {steps.LogUnreadable, "unreadable"}} {
		n := 0
		for _, l := range logs {
			if l.Verdict == v.verdict {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v.words))
		}
	}
	_, err := fmt.Fprintf(w, "\n%s: %s\n", words.Counted(len(logs), "log"), strings.Join(parts, ", "))
	return err
}

// plainName renders text chosen by a target, such as a file name, as short text that is safe on a terminal.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strconv.IsGraphic(r) {
			return r
		}
		return '\uFFFD'
	}, name)
	return cut.Text(name, 300)
}
