package style

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const specification = "../../docs/spec/"

// finding is one entry of docs/spec/FINDINGS.md.
type finding struct {
	id     string
	quotes []string // "document section, Lline: words"
	parts  int      // unclear, ruling, proposal; in Chinese, the language of the documents, also what implementers may do
	ids    []string // of clauses and gaps
}

var (
	entry    = regexp.MustCompile(`^### ([A-Z]{2}-F\d{2}) .`)
	quoted   = regexp.MustCompile(`^> ([a-z-]+) (\S+), L(\d+): (.+)$`)
	bullet   = regexp.MustCompile(`^- \*\*[^*]+\*\*(: |：).`)
	clauseID = regexp.MustCompile(`\b(?:AS|AC|SC|RT|EA)-(?:G\d{2}|\d{3}[a-z]?)\b`)
)

// readFindings returns the entries of a page, and how many the table of each document announces.
func readFindings(t *testing.T, name string) ([]finding, string) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(specification + name))
	if err != nil {
		t.Fatal(err)
	}
	var all []finding
	head, _, _ := strings.Cut(string(text), "\n## ")
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := entry.FindStringSubmatch(line); m != nil {
			all = append(all, finding{id: m[1]})
			continue
		}
		if len(all) == 0 || line == ">" {
			continue
		}
		last := &all[len(all)-1]
		switch {
		case strings.HasPrefix(line, ">"):
			last.quotes = append(last.quotes, strings.TrimPrefix(line, "> "))
			if !quoted.MatchString(line) {
				t.Errorf("%s: %s: a quotation is DOCUMENT SECTION, Lnumber: WORDS, not %q", name, last.id, line)
			}
		case bullet.MatchString(line):
			last.parts++
		}
		last.ids = append(last.ids, clauseID.FindAllString(line, -1)...)
	}
	return all, head
}

// TestFindings: each finding has all its parts, its quotations are words of the sources at the given lines, the
// translation has the same findings, and each clause at which documents disagree has one.
func TestFindings(t *testing.T) {
	english, head := readFindings(t, "FINDINGS.md")
	chinese, zhHead := readFindings(t, "FINDINGS.zh.md")
	lines, quotes, covered := map[string][]string{}, 0, map[string]bool{}
	for i, f := range english {
		if f.parts != 3 || len(f.quotes) == 0 || len(f.ids) == 0 {
			t.Errorf("%s has %d parts, %d quotations and %d ids", f.id, f.parts, len(f.quotes), len(f.ids))
		}
		for _, q := range f.quotes {
			quotes++
			atLine(t, f.id, q, lines)
		}
		for _, id := range f.ids {
			covered[id] = true
		}
		if i >= len(chinese) || chinese[i].id != f.id || !slices.Equal(chinese[i].quotes, f.quotes) ||
			chinese[i].parts != f.parts+1 || !slices.Equal(chinese[i].ids, f.ids) {
			t.Fatalf("FINDINGS.zh.md differs from FINDINGS.md at %s", f.id)
		}
	}
	if len(english) != len(chinese) || len(english) < 70 || quotes < 140 {
		t.Errorf("%d findings, %d in Chinese, %d quotations", len(english), len(chinese), quotes)
	}
	announced(t, english, head, zhHead)
	known, disagree := ledger(t)
	for _, id := range disagree {
		if !covered[id] {
			t.Errorf("the documents disagree at %s, and no finding names it", id)
		}
	}
	for id := range covered {
		if !strings.Contains(id, "-G") && !known[id] {
			t.Errorf("a finding names %s, which is no clause", id)
		}
	}
}

// atLine checks that a quotation is on the given line of a source.
func atLine(t *testing.T, id, quote string, lines map[string][]string) {
	t.Helper()
	m := quoted.FindStringSubmatch("> " + quote)
	if m == nil {
		return // reported before
	}
	document := m[1]
	if lines[document] == nil {
		text, err := os.ReadFile(filepath.FromSlash(specification + "source/" + document + ".zh.md"))
		if err != nil {
			t.Fatal(err)
		}
		lines[document] = strings.Split(string(text), "\n")
	}
	var n int
	if _, err := fmt.Sscan(m[3], &n); err != nil || n < 1 || n > len(lines[document]) {
		t.Errorf("%s: %s has no line %s", id, document, m[3])
		return
	}
	if !strings.Contains(lines[document][n-1], m[4]) {
		t.Errorf("%s: line %d of %s is\n  %s\nand not\n  %s", id, n, document, lines[document][n-1], m[4])
	}
}

// announced checks the numbers in the tables of contents.
func announced(t *testing.T, all []finding, heads ...string) {
	t.Helper()
	of := map[string]string{"AS": "agent-select", "AC": "agent-client", "SC": "session-chat",
		"RT": "session-runtime", "EA": "external-agent"}
	count := map[string]int{}
	for _, f := range all {
		count[of[f.id[:2]]]++
	}
	for document, n := range count {
		for _, head := range heads {
			if row := fmt.Sprintf("| [%s](#%s) | %d |", document, document, n); !strings.Contains(head, row) {
				t.Errorf("the table of contents lacks %q", row)
			}
		}
	}
}

// ledger returns all clauses, and those at which documents disagree.
func ledger(t *testing.T) (known map[string]bool, disagree []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.FromSlash("../../features/*/clauses.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatal(err, files)
	}
	row := regexp.MustCompile(`(?m)^  - id: (\S+)\n    level: (\w+)$`)
	known = map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			known[m[1]] = true
			if m[2] == "CONFLICT" {
				disagree = append(disagree, m[1])
			}
		}
	}
	if len(disagree) < 38 {
		t.Fatalf("only %d clauses with disagreeing documents", len(disagree))
	}
	return known, disagree
}
