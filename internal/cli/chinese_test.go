package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/lang"
	"parley/steps"
	"parley/transport/driver/browser"
)

var (
	quotation = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"?|`[^`]*`?")
	members   = regexp.MustCompile(`[{\[][^{}\[\]]*[}\]]?`)
	sentence  = regexp.MustCompile(`\b[A-Za-z]+(?:'s)?,?(?: [a-z]{2,}(?:'s)?,?){2,}`)
)

// englishIn returns three or more English words in a row that are neither quoted nor in JSON; "" if there are none.
func englishIn(text string) string {
	for last := ""; last != text; {
		last, text = text, members.ReplaceAllString(quotation.ReplaceAllString(text, "¤"), "¤")
	}
	return sentence.FindString(text)
}

// TestExplainInChinese: each clause is explained in Chinese; names of scenarios and steps stay.
func TestExplainInChinese(t *testing.T) {
	for _, p := range suite.All {
		ledger, err := steps.LedgerOf(p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := openBook(steps.Name(p))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ledger.Rows() {
			page := clausePage(b, r, lang.Chinese)
			w := r.Chinese
			for _, want := range []string{w.Text, w.Fair, w.Strict, w.Ruling} {
				if !strings.Contains(page, want) {
					t.Errorf("%s: %q is not explained in\n%s", r.ID, want, page)
				}
			}
			for _, pair := range [][2]string{{r.Text, w.Text}, {r.Reason, w.Reason}, {r.Fair, w.Fair}, {r.Strict, w.Strict},
				{r.Ruling, w.Ruling}} {
				if pair[0] != "" && !lang.Chinese.Native(pair[1]) || englishIn(pair[1]) != "" {
					t.Errorf("%s: %q in Chinese is %q", r.ID, pair[0], pair[1])
				}
			}
			if english := clausePage(b, r, lang.English); !strings.Contains(english, r.Text) ||
				strings.Contains(english, w.Text) && !strings.Contains(r.Source, w.Text) {
				t.Errorf("%s in English is\n%s", r.ID, english)
			}
		}
	}
}

// faultyTargets are mutants with failures of several kinds.
var faultyTargets = []struct{ protocol, role, mutant string }{
	{"agent-select", "server", "trims-ids"},
	{"agent-client", "client", "list-taken-once"},
	{"session-chat", "server", "id-in-system-only"},
	{"session-runtime", "server", "accepted-with-output"},
	{"external-agent", "relay", "joined-without-role"},
	{"external-agent", "host", "join-answer-unnamed"},
	{"external-agent", "agent", "joins-the-study-session"},
}

// TestReportsInChinese: the reports of a faulty target of each protocol and role have no English sentence of ours, but
// for the names of scenarios, their steps and what ran. The same in English have, so that the test can see them.
func TestReportsInChinese(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a target for each role")
	}
	for _, f := range faultyTargets {
		t.Run(f.protocol+" "+f.role, func(t *testing.T) {
			if _, err := browser.Find(""); err != nil && f.role == "client" {
				t.Skip(err)
			}
			r := resultsOfMutant(t, f.protocol, f.role, f.mutant)
			if left := untranslated(t, r, lang.Chinese); len(left) > 0 {
				t.Errorf("left in English:\n%s", strings.Join(left, "\n"))
			}
			if len(untranslated(t, r, lang.English)) < 5 {
				t.Error("no sentence of ours is in the report in English")
			}
		})
	}
}

// resultsOfMutant runs a mutant against the scenarios of its clauses.
func resultsOfMutant(t *testing.T, protocol, role, mutant string) *reports.Results {
	t.Helper()
	dir := t.TempDir()
	_, errs, code := invoke(t, "mutants", "--protocol", protocol, "--role", role, "--only", mutant, "--out", dir)
	if code > 1 { // 1: not all clauses are proved
		t.Fatalf("exit %d: %s", code, errs)
	}
	b, err := os.ReadFile(filepath.Join(dir, protocol+"-"+role, mutant+".json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := reports.ReadJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// untranslated returns the English sentences in the reports for people.
func untranslated(t *testing.T, r *reports.Results, l lang.Lang) (left []string) {
	t.Helper()
	kept := keptTexts(r)
	add := func(where, text string) {
		for line := range strings.Lines(text) {
			if found := englishIn(kept.Replace(line)); found != "" {
				left = append(left, where+": "+strings.TrimSpace(line))
			}
		}
	}
	var page, md, console bytes.Buffer
	if err := reports.WriteHTMLWith(&page, r, reports.PageOptions{Lang: l}); err != nil {
		t.Fatal(err)
	}
	if err := reports.WriteMarkdownIn(&md, r, l); err != nil {
		t.Fatal(err)
	}
	if err := reports.WriteConsole(&console, r, reports.ConsoleOptions{Lang: l, Verbose: true, Width: 4000}); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && !slices.Contains([]string{"style", "script", "code"}, n.Parent.Data) &&
			!slices.Contains(n.Parent.Attr, html.Attribute{Key: "class", Val: "source"}) {
			add("page", n.Data)
		}
	}
	add("markdown", regexp.MustCompile(`<!--.*?-->|\\`).ReplaceAllString(md.String(), ""))
	add("console", console.String())
	return left
}

// keptTexts removes what stays in English: names and steps of scenarios, sections, and the excerpts of traffic.
func keptTexts(r *reports.Results) *strings.Replacer {
	var kept []string
	keep := func(texts ...string) { kept = append(kept, texts...) }
	for _, run := range r.Runs {
		for _, s := range run.Scenarios {
			keep(s.Name, s.Feature)
			for _, st := range s.Steps {
				keep(st.Text)
			}
			for _, f := range s.Failures {
				keep(f.Excerpt...)
				keep(f.Step, f.Diff)
			}
		}
	}
	slices.SortFunc(kept, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, text := range slices.DeleteFunc(slices.Compact(kept), func(s string) bool { return s == "" }) {
		pairs = append(pairs, text, "¤")
	}
	return strings.NewReplacer(pairs...)
}

// TestTranslations: the translations of a ledger are read strictly.
func TestTranslations(t *testing.T) {
	row := verdict.Row{ID: "AS-001", Text: "t", Source: "原文"}
	l := &verdict.Ledger{Protocol: "p", Clauses: []verdict.Row{row}}
	l.Index()
	for text, fine := range map[string]bool{
		"": true, "AS-001: {text: 译文}": true, "AS-001: {txt: 译文}": false, "AS-002: {text: 译文}": false,
		"AS-001: {fair: 译文}": false,
	} {
		if err := l.Translate([]byte(text)); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := l.Translate(nil); err != nil || l.Rows()[0].Chinese.Text != "原文" {
		t.Errorf("without a translation: %+v, %v", l.Rows()[0].Chinese, err)
	}
}
