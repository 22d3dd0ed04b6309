package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley/internal/cut"
	"parley/monitor/externalagent/studylog"
	"parley/verdict"
)

// checkLogOptions are the flags of parley check-log.
type checkLogOptions struct {
	session, format string
	complete        bool
}

// textFormat is what check-log prints for people; jsonFormat is the other.
const textFormat = "text"

func checkLogCommand(s *streams) *cobra.Command {
	var o checkLogOptions
	c := &cobra.Command{
		Use:   "check-log FILE|DIR…",
		Short: "Judge study logs of external-agent hosts",
		Long: `Judge study logs, the JSONL files of external-agent hosts, by section 6 of external-agent.zh.md (EA-085 to EA-093). Of a
folder every *.jsonl below it is judged. No target is needed, and nothing is compared with a wire.

Each file has a line with its verdict, and each finding one with the place in the file, the clause, what was expected and
what was found. A last line that was cut off is a warning, or with --complete a finding. Notes tell what no clause forbids.

With --format json there is one object:

  {"files": [{
    "file":     its name
    "verdict":  fine, findings, empty (no event, so nothing was judged) or unreadable
    "session":  the sessionId that was expected; without --session that of the first line
    "sessions": every sessionId in it, at most 16
    "lines":    their number      "events": those that are a JSON object
    "clauses":  [{"clause", "kept", "broken"}], how often; only those that were judged
    "findings": [{"clause", "line", "expected", "observed"}], at most 100 of a clause; line 0 is the file as a whole
    "dropped":  findings beyond that
    "notes":    [{"line", "count", "text"}]
    "torn":     {"line", "bytes", "start"} of a last line that was cut off
    "error":    why reading it failed
  }]}

Exit codes: 0 nothing was found · 1 findings · 2 wrong usage, or a file that cannot be read · 5 a log is empty, so that nothing
of it was judged, and there are no findings in others.`,
		Example: `  parley check-log logs/study
  parley check-log --complete --session s-20260213-001 logs/study/s-20260213-001.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return checkLog(c.Context(), args, o, s) },
	}
	f := c.Flags()
	f.StringVar(&o.session, "session", "", "`ID` of the session whose lines are judged (default all)")
	f.BoolVar(&o.complete, "complete", false, "the sessions have ended: a log without events, and one that ends in a torn line, is a finding")
	f.StringVar(&o.format, "format", textFormat, "`FORMAT` to print: text or json")
	return c
}

// The verdicts on a log.
const (
	logFine       = "fine"
	logFindings   = "findings"
	logEmpty      = "empty"
	logUnreadable = "unreadable"
)

// checkedLog is a judged file, as --format json prints it.
type checkedLog struct {
	File     string        `json:"file"`
	Verdict  string        `json:"verdict"`
	Session  string        `json:"session"`
	Sessions []string      `json:"sessions"`
	Lines    int           `json:"lines"`
	Events   int           `json:"events"`
	Clauses  []clauseTally `json:"clauses"`
	Findings []logFinding  `json:"findings"`
	Dropped  int           `json:"dropped"`
	Notes    []logNote     `json:"notes"`
	Torn     *tornLine     `json:"torn,omitzero"`
	Error    string        `json:"error,omitzero"`
}

type clauseTally struct {
	Clause string `json:"clause"`
	Kept   int    `json:"kept"`
	Broken int    `json:"broken"`
}

type logFinding struct {
	Clause   string `json:"clause"`
	Line     int    `json:"line"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
}

type logNote struct {
	Line  int    `json:"line"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

type tornLine struct {
	Line  int    `json:"line"`
	Bytes int    `json:"bytes"`
	Start string `json:"start"`
}

func checkLog(ctx context.Context, args []string, o checkLogOptions, s *streams) error {
	known := []string{textFormat, jsonFormat}
	switch {
	case len(args) == 0:
		return usagef("check-log: which log? (name files, or folders with *.jsonl in them)")
	case !slices.Contains(known, o.format):
		return usagef("--format: unknown format %q%s", o.format, suggest(o.format, known, "known: "+strings.Join(known, ", ")))
	}
	files, err := logFiles(args)
	if err != nil {
		return err
	}
	var out struct {
		Files []checkedLog `json:"files"`
	}
	for _, name := range files {
		l := judgeLog(ctx, name, o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.Files = append(out.Files, l)
		if o.format == textFormat {
			if err := l.print(s.Out); err != nil {
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

// logsExit is the exit code of a check: what could not be read weighs most, then findings, then what was not judged.
func logsExit(logs []checkedLog) error {
	code := verdict.ExitConformant
	for _, l := range logs {
		switch {
		case l.Verdict == logUnreadable:
			return exitError{verdict.ExitUsage}
		case l.Verdict == logFindings:
			code = verdict.ExitNonConformant
		case l.Verdict == logEmpty && code == verdict.ExitConformant:
			code = verdict.ExitIncomplete
		}
	}
	if code == verdict.ExitConformant {
		return nil
	}
	return exitError{code}
}

// logFiles are the files that were named, and those in the folders that were.
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
	return unique(out), nil
}

// logsBelow finds *.jsonl in a folder and those within it. What is no file when it is opened, such as a pipe, is left out.
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

func judgeLog(ctx context.Context, name string, o checkLogOptions) checkedLog {
	f, err := os.Open(name)
	if err != nil {
		return checkedLog{File: plainName(name), Verdict: logUnreadable, Error: plainName(err.Error()),
			Sessions: []string{}, Clauses: []clauseTally{}, Findings: []logFinding{}, Notes: []logNote{}}
	}
	defer f.Close()
	return summed(name, studylog.Check(interruptedReader{ctx, f}, studylog.Options{Session: o.session, Complete: o.complete}))
}

// interruptedReader ends where its context does: a log may be of any length.
type interruptedReader struct {
	ctx context.Context
	r   io.Reader
}

func (r interruptedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func summed(name string, r studylog.Report) checkedLog {
	l := checkedLog{File: plainName(name), Verdict: logFine, Session: plainName(r.Session), Sessions: append([]string{}, r.Sessions...), Lines: r.Lines, Events: r.Events,
		Clauses: []clauseTally{}, Findings: []logFinding{}, Dropped: r.Dropped, Notes: []logNote{}, Torn: (*tornLine)(r.Torn)}
	for _, clause := range slices.Sorted(maps.Keys(r.Clauses)) {
		l.Clauses = append(l.Clauses, clauseTally{clause, r.Clauses[clause].Kept, r.Clauses[clause].Broken})
	}
	for _, f := range r.Findings {
		if !f.OK {
			l.Findings = append(l.Findings, logFinding{f.Clause, f.Line, f.Expected, f.Observed})
		}
	}
	for _, n := range r.Notes {
		l.Notes = append(l.Notes, logNote(n))
	}
	switch {
	case r.Err != nil:
		l.Verdict, l.Error = logUnreadable, plainName(r.Err.Error())
	case r.Failed():
		l.Verdict = logFindings
	case r.Events == 0:
		l.Verdict = logEmpty
	}
	return l
}

// print writes the verdict on a log, and what there is to say of it.
func (l checkedLog) print(w io.Writer) error {
	found := counted(len(l.Findings)+l.Dropped, "finding")
	verdicts := map[string]string{
		logFine:       fmt.Sprintf("fine: %s of session %s, %s judged", counted(l.Events, "event"), l.Session, counted(len(l.Clauses), "clause")),
		logFindings:   found + " in " + counted(l.Events, "event"),
		logEmpty:      "empty: there is no event, and nothing was judged",
		logUnreadable: "cannot be read: " + l.Error,
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
	if l.Dropped > 0 {
		fmt.Fprintf(&b, "  and %d more\n", l.Dropped)
	}
	if l.Torn != nil && !l.tornFound() {
		fmt.Fprintf(&b, "%s: warning: ends in a torn line (crash?): %s\n", at(l.Torn.Line), l.Torn.Start)
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

// tornFound tells whether the torn line is a finding, so that it need not be told again.
func (l checkedLog) tornFound() bool {
	return slices.ContainsFunc(l.Findings, func(f logFinding) bool { return f.Line == l.Torn.Line && f.Clause == "EA-085" })
}

// printLogs counts the verdicts of several logs.
func printLogs(w io.Writer, logs []checkedLog) error {
	if len(logs) < 2 {
		return nil
	}
	var parts []string
	for _, v := range []struct{ verdict, words string }{{logFine, "fine"}, {logFindings, "with findings"}, {logEmpty, "empty"}, {logUnreadable, "unreadable"}} {
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
	_, err := fmt.Fprintf(w, "\n%s: %s\n", counted(len(logs), "log"), strings.Join(parts, ", "))
	return err
}

// plainName keeps what a target chose, such as a file's name, from being more than a short text, to a terminal too.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strconv.IsGraphic(r) {
			return r
		}
		return '\uFFFD'
	}, name)
	return cut.Text(name, 300)
}
