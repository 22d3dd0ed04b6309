package reports

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"parley/verdict"
)

// excluded is the outcome shown for a clause that the ledger excludes, whatever its real one.
const excluded verdict.Outcome = "excluded"

// pageFuncs are the template functions.
var pageFuncs = template.FuncMap{
	"mark":      func(o verdict.Outcome) string { return shownLook(o).mark },
	"word":      func(o verdict.Outcome) string { return shownLook(o).word },
	"outcome":   shownOutcome,
	"stepMark":  stepMark,
	"duration":  duration,
	"digest":    shortDigest,
	"anchor":    anchor,
	"bigMark":   verdictMark,
	"capital":   capital,
	"diffLines": diffLines,
	"baseline":  baselineText,
	"trim":      strings.TrimSpace,
	"seen":      seenNotes,
	"cut":       brokenCuts,
	"limit":     func() int { return shownPerClause },
	"minus":     func(a, b int) int { return a - b },
	"followed":  func(f Failure) string { return count(len(f.Following)+f.MoreFollowing, "finding") },
	"alike":     alike,
	"found":     timesFound,
	"join":      strings.Join,
	"count":     count,
	"step":      failedStep,
	"levels":    func() []verdict.Level { return verdict.Levels },
	"in":        within,
	"prose":     prose,
	"label":     evidenceLabel,
	"pictured":  pictured,
	"linked":    linked,
	"missed":    func(s *Scenario) string { return missedBy(*s) },
	"broke":     func(s *Scenario) string { return foundBy(*s) },
	"once":      oncePerDriver,
	"rest":      restOf,
}

// inRun is a part of a run, together with the run, from which ids, links and columns are made.
type inRun struct {
	*runView
	X any
}

// within returns x in the run of v, which is the view of a run or a part of one.
func within(v, x any) inRun {
	if outer, ok := v.(inRun); ok {
		return inRun{outer.runView, x}
	}
	return inRun{v.(*runView), x}
}

func shownOutcome(c Clause) verdict.Outcome {
	if c.Excluded || c.OtherRole {
		return excluded
	}
	return c.Outcome
}

func shownLook(o verdict.Outcome) look {
	if o == excluded {
		return look{mark: "×", word: "excluded"}
	}
	return lookOf(o)
}

// anchor makes a link id from its parts; invalid characters become hyphens.
func anchor(parts ...string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}

func stepMark(status string) string {
	switch status {
	case "passed":
		return "✓"
	case "failed":
		return "✗"
	case "skipped":
		return "–"
	default:
		return "?"
	}
}

func verdictMark(v verdict.Verdict) string {
	switch v {
	case verdict.Conformant:
		return "✓"
	case verdict.NonConformant:
		return "✗"
	case verdict.AsExpected:
		return "~"
	default:
		return "?"
	}
}

func capital(v any) string {
	s := fmt.Sprint(v)
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// phrase is a part of a text: words, or code.
type phrase struct {
	Code bool
	Text string
}

// prose splits the text of a clause at its backticks. A text with an unpaired one stays whole.
func prose(s string) []phrase {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 {
		return []phrase{{false, s}}
	}
	var out []phrase
	for i, p := range parts {
		if p != "" {
			out = append(out, phrase{i%2 == 1, p})
		}
	}
	return out
}

// besidePage matches safe paths of files: in results from anyone, they lead neither to another host nor out of the
// results folder.
var besidePage = regexp.MustCompile(`^(?:evidence|transcripts)/[\w-][\w.-]*$`)

// linked reports whether the page links to a file; otherwise it only names it.
func linked(path string) bool { return besidePage.MatchString(path) }

// pictured reports whether the page itself shows a piece of evidence; otherwise it links to it.
func pictured(e Evidence) bool { return strings.HasPrefix(e.Type, "image/") && linked(e.Path) }

// diffLine is one line of a diff with its class.
type diffLine struct{ Class, Text string }

func diffLines(d string) []diffLine {
	var out []diffLine
	for line := range strings.SplitSeq(strings.Trim(d, "\n"), "\n") {
		class := "same"
		switch diffColour(line) {
		case green:
			class = "wanted"
		case red:
			class = "got"
		}
		out = append(out, diffLine{class, line})
	}
	return out
}

// seenNotes returns the notes of a run with those of its scenarios, security notes first.
func seenNotes(run *Run) []Note {
	notes := slices.Concat(run.Notes, scenarioNotes(run))
	slices.SortStableFunc(notes, func(a, b Note) int { return noteRank(a) - noteRank(b) })
	return notes
}

func noteRank(n Note) int {
	if n.Kind == "security" {
		return 0
	}
	return 1
}
