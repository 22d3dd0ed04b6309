package reports

import (
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"parley/features/verdict"
	"parley/reports/lang"
)

// excluded is the outcome shown for a clause that the ledger excludes, whatever its real one.
const excluded verdict.Outcome = "excluded"

// pageFuncs returns the template functions of pages in a language.
func pageFuncs(l lang.Lang) template.FuncMap {
	funcs := maps.Clone(plainFuncs)
	maps.Copy(funcs, template.FuncMap{
		"t":        l.Say,
		"of":       l.Of,
		"count":    l.Count,
		"tag":      l.Tag,
		"groups":   func(p part) []changeGroup { return p.Groups(l) },
		"how":      func(c interface{ How(lang.Lang) string }) string { return c.How(l) },
		"word":     func(o verdict.Outcome) string { return wordOf(o, l) },
		"capital":  func(v any) string { return capitalize(l.Say(fmt.Sprint(v))) },
		"duration": func(ms float64) string { return formatDuration(ms, l) },
		"baseline": func(row BaselineRow) string { return baselineText(row, l) },
		"followed": func(r viewRow) string { return l.Count(len(r.Texts)+r.More, "finding") },
		"texts":    func(r viewRow) []string { return r.firstTexts(0, l) },
		"hit":      func(h shownHit) failureView { return viewOf(h.hit, l, h.Also...) },
		"error":    func(s *Scenario) failureView { return viewOfError(s, l) },
		"evidence": func(s *Scenario) failureView { return viewOfEvidence(s, l) },
		"rest":     func(list []shownHit) string { return restOf(list, l) },
		"title":    func(c column) string { return l.Say(c.Title()) },
		"picture":  func(c *Cuts) cutPicture { return c.Picture(l) },
		"cuts":     func(c *Cuts) string { return c.TextIn(l) },
		"terms":    func() string { return scriptTerms(l) },
		"written":  writtenIn,
		"missed":   func(s *Scenario) string { return missedRecords(*s, l) },
	})
	return funcs
}

// scriptTerms returns, as JSON, what the script of the page says in another language than English; "" for English.
func scriptTerms(l lang.Lang) string {
	table := l.Table(scriptTexts()...)
	return jsonText(table, len(table))
}

var scriptSays = regexp.MustCompile(`\bsay\("([^"]+)"`)

// scriptTexts returns the texts that the script of the page says.
var scriptTexts = sync.OnceValue(func() []string {
	var out []string
	for _, m := range scriptSays.FindAllStringSubmatch(pageScript, -1) {
		out = append(out, m[1])
	}
	return out
})

// writtenIn returns the language of the text that stands beside a clause: the page quotes
// the source document beside the text of the ledger, or the other way round.
func writtenIn(text string) string {
	if lang.Chinese.Native(text) {
		return string(lang.Chinese)
	}
	return string(lang.English)
}

// plainFuncs are the template functions that say nothing.
var plainFuncs = template.FuncMap{
	"mark":      func(o verdict.Outcome) string { return shownLook(o).mark },
	"outcome":   shownOutcome,
	"stepMark":  stepMark,
	"digest":    shortDigest,
	"anchor":    anchor,
	"bigMark":   verdictMark,
	"diffLines": diffLines,
	"trim":      strings.TrimSpace,
	"seen":      seenNotes,
	"cut":       brokenCuts,
	"limit":     func() int { return shownPerClause },
	"minus":     func(a, b int) int { return a - b },
	"found":     timesFound,
	"join":      strings.Join,
	"levels":    func() []verdict.Level { return verdict.Levels },
	"in":        withRun,
	"prose":     splitProse,
	"pictured":  isPictured,
	"linked":    isLinked,
	"broke":     func(s *Scenario) string { return brokenRecords(*s) },
	"once":      oncePerDriver,
}

// inRun is a part of a run, together with the run, from which ids, links and columns are made.
type inRun struct {
	*runView
	X any
}

// withRun returns x in the run of v, which is the view of a run or a part of one.
func withRun(v, x any) inRun {
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

func capitalize(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// phrase is a part of a text: words, or code.
type phrase struct {
	Code bool
	Text string
}

// splitProse splits the text of a clause at its backticks. A text with an unpaired one stays whole.
func splitProse(s string) []phrase {
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

// isLinked reports whether the page links to a file; otherwise it only names it.
func isLinked(path string) bool { return besidePage.MatchString(path) }

// isPictured reports whether the page itself shows a piece of evidence; otherwise it links to it.
func isPictured(e Evidence) bool { return strings.HasPrefix(e.Type, "image/") && isLinked(e.Path) }

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
