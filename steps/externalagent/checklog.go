package externalagent

import (
	"io"
	"maps"
	"slices"

	"parley/steps"
	"parley/steps/externalagent/studylog"
)

// AboutLogs implements steps.LogJudge.
func (Protocol) AboutLogs() (what, by string) {
	return "study logs of external-agent hosts", "study logs, the JSONL files of external-agent hosts, by section 6 of " +
		"external-agent.zh.md (EA-085 to EA-093)"
}

// CheckLog implements steps.LogJudge.
func (Protocol) CheckLog(in io.Reader, session string, complete bool) steps.LogReport {
	r := studylog.Check(in, studylog.Options{Session: session, Complete: complete})
	l := steps.LogReport{Verdict: steps.LogFine, Session: r.Session, Sessions: append([]string{}, r.Sessions...),
		Lines: r.Lines, Events: r.Events, Clauses: []steps.LogTally{}, Findings: []steps.LogFinding{}, Dropped: r.Dropped,
		Notes: []steps.LogNote{}, Torn: (*steps.LogTorn)(r.Torn)}
	for _, clause := range slices.Sorted(maps.Keys(r.Clauses)) {
		l.Clauses = append(l.Clauses, steps.LogTally{Clause: clause, Kept: r.Clauses[clause].Kept,
			Broken: r.Clauses[clause].Broken})
	}
	for _, f := range r.Findings {
		if !f.OK {
			l.Findings = append(l.Findings, steps.LogFinding{Clause: f.Clause, Line: f.Line, Expected: f.Expected,
				Observed: f.Observed})
		}
	}
	for _, n := range r.Notes {
		l.Notes = append(l.Notes, steps.LogNote(n))
	}
	switch {
	case r.Err != nil:
		l.Verdict, l.Error = steps.LogUnreadable, r.Err.Error()
	case r.Failed():
		l.Verdict = steps.LogFindings
	case r.Events == 0:
		l.Verdict = steps.LogEmpty
	}
	return l
}
