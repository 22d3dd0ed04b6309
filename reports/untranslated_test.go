package reports

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/features/verdict"
	"parley/reports/lang"
)

// kept are the strings of results that the program reads, and those that users type.
func kept(s string) bool {
	return slices.Contains(named(), s) || slices.Contains(verdict.Levels, verdict.Level(s)) ||
		besidePage.MatchString(s) || strings.HasPrefix(s, "image/") || strings.HasPrefix(s, "text/") || s == SchemaID
}

var letters = regexp.MustCompile(`[A-Za-z]+`)

// masked is r without a word of anybody else: whatever letters a report of it has are ours.
func masked(r *Results) *Results {
	out := mapTexts(reflect.ValueOf(*r), func(s string) string {
		if kept(s) {
			return s
		}
		return letters.ReplaceAllString(s, "¤")
	}).Interface().(Results)
	return &out
}

// mixed is masked results in which everything occurs that a report can tell.
func mixed() *Results {
	r := sample()
	run := &r.Runs[0]
	run.Baseline = append(run.Baseline,
		BaselineRow{Clause: "AS-008", Reason: "now and then", Role: "server", Driver: "sse", Flaky: true,
			State: verdict.RowSpared, Expires: "2026-03-02"})
	run.Clauses[6].Reason = verdict.NotRun
	run.Totals.OtherRole = 2
	run.Cuts = []Cuts{{Course: "c", Name: "a course", Party: "client A", Driver: "ws", By: "reset", Points: 2,
		Reached: 2, Judged: 1, Broke: []CutPoint{{Record: 1, Scenario: "x", Clauses: []string{"AS-008"}}},
		Records: []CutRecord{{Sent: true, Label: "chat", How: CutBroke, Clauses: []string{"AS-008"}},
			{Label: "list", How: CutMissed}, {Label: "list", How: CutNotJudged}}}}
	run.Causes[0].Kinds = append(run.Causes[0].Kinds, CauseKind{"a", "b"}, CauseKind{"c", "d"}, CauseKind{"e", "f"},
		CauseKind{"g", "h"})
	run.Causes[0].Clauses = append(run.Causes[0].Clauses, "AS-001", "AS-002", "AS-003", "AS-004", "AS-005", "AS-006")
	run.Causes[0].MoreFollowing = 7
	run.Scenarios[8].Failures[0].Observed += onStderr + "panic"
	for i := range run.Scenarios {
		run.Scenarios[i].Recording = &Transcript{Path: "transcripts/AS.jsonl", SHA256: strings.Repeat("ab", 32)}
	}
	for _, n := range []string{"interop", "target", "harness", "explored", "cut", "fault"} {
		run.Notes = append(run.Notes, Note{Kind: n, Text: "a note"})
	}
	r.Strict, r.Partial = true, true
	return masked(r)
}

// ours are words of ours that are the same in each language.
var ours = []string{"Parley", "PARLEY", "parley", "MUST", "SHOULD", "MAY", "INFO", "CONFLICT", "stderr", "report",
	"html", "verbose", "explain", "list", "ID", "UTC", "E", "H"}

// unsaid are names of files, escapes and digests.
var unsaid = regexp.MustCompile(`\b(?:evidence|transcripts)/\S+|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|&\w+;|\bsha256:`)

// leftOver returns the words of a text that are neither masked nor the same in each language.
func leftOver(text string) (out []string) {
	for _, w := range letters.FindAllString(unsaid.ReplaceAllString(text, ""), -1) {
		if !slices.Contains(ours, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// told returns what a page says to people: its texts, without those of its style and its script, and the attributes
// that browsers show or read out.
func told(t *testing.T, page []byte) string {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script":
			b.WriteString(n.Data + "\n")
		case n.Type == html.ElementNode:
			for _, a := range n.Attr {
				if slices.Contains([]string{"title", "alt", "aria-label", "placeholder"}, a.Key) ||
					n.Data == "td" && a.Key == "data-of" {
					b.WriteString(a.Val + "\n")
				}
			}
		}
	}
	return b.String()
}

// TestNoEnglishIsLeft writes each report for people in Chinese, of results without a word of anybody else: nothing in
// English is left. The same in English has words, which proves that the test sees them.
func TestNoEnglishIsLeft(t *testing.T) {
	absent := unreachableRun()
	absent.Environment += "\nstderr:\nno such file"
	nothing := func(string) ([]byte, error) { return nil, nil }
	write := map[string]func(l lang.Lang) string{
		"console": func(l lang.Lang) string { return consoleIn(t, mixed(), ConsoleOptions{Lang: l, Dir: "¤"}) },
		"verbose": func(l lang.Lang) string {
			return consoleIn(t, mixed(), ConsoleOptions{Lang: l, Verbose: true, Dir: "¤"})
		},
		"short": func(l lang.Lang) string {
			return consoleIn(t, masked(broken200()), ConsoleOptions{Lang: l})
		},
		"absent": func(l lang.Lang) string {
			r := masked(&Results{Verdict: verdict.Incomplete, Exit: 3, Runs: []Run{absent}})
			return consoleIn(t, r, ConsoleOptions{Lang: l})
		},
		"page": func(l lang.Lang) string {
			var b bytes.Buffer
			if err := WriteHTMLWith(&b, mixed(), PageOptions{Lang: l, Read: nothing}); err != nil {
				t.Fatal(err)
			}
			return told(t, b.Bytes())
		},
		"markdown": func(l lang.Lang) string {
			var b bytes.Buffer
			if err := WriteMarkdownIn(&b, mixed(), l); err != nil {
				t.Fatal(err)
			}
			return regexp.MustCompile("<[^>]*>|```sh").ReplaceAllString(b.String(), "")
		},
		"matrix": func(l lang.Lang) string {
			var b, page bytes.Buffer
			other := mixed()
			other.Suite.Digest, other.Selection = "¤:1", ""
			m := NewMatrixIn(l, mixed(), other)
			if err := WriteMatrixMarkdown(&b, m); err != nil {
				t.Fatal(err)
			}
			if err := WriteMatrixHTML(&page, m); err != nil {
				t.Fatal(err)
			}
			return regexp.MustCompile("<[^>]*>").ReplaceAllString(b.String(), "") + told(t, page.Bytes())
		},
		"comparison": func(l lang.Lang) string {
			var b, md, page bytes.Buffer
			c := CompareIn(l, earlier(), mixed())
			if err := errors.Join(WriteComparisonText(&b, c, 100, false), WriteComparisonMarkdown(&md, c),
				WriteComparisonHTML(&page, c)); err != nil {
				t.Fatal(err)
			}
			return b.String() + regexp.MustCompile("<[^>]*>").ReplaceAllString(md.String(), "") + told(t, page.Bytes())
		},
		"same suite": func(l lang.Lang) string { // slowness is told of the same scenarios alone
			var b, md bytes.Buffer
			old, now := mixed(), mixed()
			old.Partial, now.Selection = true, "¤"
			now.Runs[0].Scenarios[0].Duration = 1000 + 3*old.Runs[0].Scenarios[0].Duration
			now.Runs[0].Clauses[0].Outcome = verdict.NotTested // a clause that cannot fail, and one that can
			now.Runs[0].Clauses[2].Outcome = verdict.NotTested
			c := CompareIn(l, old, now)
			if len(c.Runs[0].Slower) == 0 || len(c.Runs[0].Untested) == 0 {
				t.Fatalf("nothing is slower or untested: %+v", c.Runs[0])
			}
			if err := errors.Join(WriteComparisonText(&b, c, 100, false), WriteComparisonMarkdown(&md, c)); err != nil {
				t.Fatal(err)
			}
			return b.String() + regexp.MustCompile("<[^>]*>").ReplaceAllString(md.String(), "")
		},
		"progress": func(l lang.Lang) string {
			var b bytes.Buffer
			r := mixed()
			p := NewProgress(&b, ProgressOptions{Total: len(r.Runs[0].Scenarios), Lang: l})
			p.Start()
			for _, s := range r.Runs[0].Scenarios {
				p.ScenarioDone(s)
			}
			p.Stop()
			return b.String()
		},
	}
	for name, in := range write {
		t.Run(name, func(t *testing.T) {
			if left := leftOver(in(lang.Chinese)); len(left) > 0 {
				t.Errorf("left in English: %q, in\n%s", left, in(lang.Chinese))
			}
			if len(leftOver(in(lang.English))) < 5 {
				t.Errorf("no word of ours in English:\n%s", in(lang.English))
			}
		})
	}
}

// earlier is mixed with other outcomes and another suite: as many kinds of changes as one comparison has.
func earlier() *Results {
	r := mixed()
	r.Suite.Digest = "¤:0"
	other := r.Runs[0]
	other.Role = "¤"
	r.Runs = append(r.Runs, other)
	clauses := r.Runs[0].Clauses
	for i := range clauses {
		c := &clauses[i]
		switch {
		case i == 0:
			c.ID = "¤-999"
		case i == 1:
			c.Text = "!"
		case i == 2:
			c.Level = verdict.May
		case i == 3:
			c.Excluded = !c.Excluded
		case c.Outcome == verdict.Passed:
			c.Outcome = verdict.Failed
		case c.Outcome == verdict.Failed:
			c.Outcome = verdict.Passed
		}
	}
	return r
}

// broken200 is a target so broken that its report is cut everywhere.
func broken200() *Results {
	r := thousand(200)
	r.Selection = "@x"
	run := &r.Runs[0]
	for i := range run.Clauses {
		c := &run.Clauses[i]
		switch {
		case i%10 == 1:
			c.Outcome, c.Reason = verdict.NotTested, strings.Repeat("!", i)
		case i%10 == 2:
			c.Outcome = verdict.Failed // without a failure
		}
	}
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		for j := range s.Failures {
			s.Failures[j].Observed = strings.Repeat("!", i)
		}
		if i%10 == 2 {
			s.Outcome = verdict.HarnessError
		}
		run.Notes = append(run.Notes, Note{Kind: "interop", Text: strings.Repeat("!", i)})
	}
	run.Totals = totalsOf(run)
	return r
}

func consoleIn(t *testing.T, r *Results, o ConsoleOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteConsole(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestChineseQuotesTheSource: reports in Chinese tell a clause by its translation, or in the words of the source
// document if they are Chinese, and not in English.
func TestChineseQuotesTheSource(t *testing.T) {
	r := sample()
	r.Runs[0].Clauses[8].Source = "agentId 必须完整匹配"
	r.Runs[0].Clauses[7].Source, r.Runs[0].Clauses[7].TextZH = "`agentId`", "agentId 是字符串"
	var b bytes.Buffer
	if err := WriteHTMLWith(&b, r, PageOptions{Lang: lang.Chinese}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`<html lang="zh-CN" data-terms="{`, `<td>agentId 必须完整匹配`, `<td>agentId 是字符串`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "agentId must match") {
		t.Error("the page in Chinese has the English of a clause")
	}
	text := consoleIn(t, r, ConsoleOptions{Lang: lang.Chinese})
	if !strings.Contains(text, "AS-080 MUST  agentId 必须完整匹配") {
		t.Errorf("the console does not quote the source:\n%s", text)
	}
	if text := consoleIn(t, r, ConsoleOptions{}); strings.Contains(text, "必须完整匹配") {
		t.Error("the console in English quotes the source")
	}
}
