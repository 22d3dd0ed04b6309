package features_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/features"
	"parley/features/verdict"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
)

// specs is the folder of the source documents and their rulings.
const specs = "../docs/spec"

// documents are the sources of clauses, by id prefix.
var documents = map[string]string{
	"AS": "agent-select.zh.md", "AC": "agent-client.zh.md", "SC": "session-chat.zh.md", "RT": "session-runtime.zh.md",
	"EA": "external-agent.zh.md",
}

// each runs a test for every protocol that has features.
func each(t *testing.T, test func(t *testing.T, protocol string, l *verdict.Ledger, scenarios []runner.Planned)) {
	t.Helper()
	names := features.Protocols()
	if len(names) == 0 {
		t.Fatal("no protocol has features")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			l, err := features.Ledger(name)
			if err != nil {
				t.Fatal(err)
			}
			scenarios, err := runner.Scenarios(features.FS, protocols.Get(name))
			if err != nil {
				t.Fatal(err)
			}
			test(t, name, l, scenarios)
		})
	}
}

// lines reads a file of the specification.
func lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(specs, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

func TestLedgers(t *testing.T) {
	each(t, func(t *testing.T, protocol string, l *verdict.Ledger, _ []runner.Planned) {
		if l.Protocol != protocol {
			t.Errorf("the ledger is of %s", l.Protocol)
		}
		var prefix string
		for p, doc := range documents {
			if doc == l.Source {
				prefix = p
			}
		}
		last := 0
		for i, row := range l.Clauses {
			if len(row.ID) == 6 { // a split clause has its number and a letter
				last++
			}
			if !strings.HasPrefix(row.ID, prefix+"-") {
				t.Errorf("%s is not a clause of %s", row.ID, l.Source)
			}
			// Ids are permanent: a clause is excluded with a reason, never dropped.
			if want := fmt.Sprintf("%s-%03d", prefix, last); row.ID[:6] != want {
				t.Errorf("row %d is %s; want %s", i+1, row.ID, want)
			}
		}
		if _, err := features.Ledger("no-such-protocol"); err == nil {
			t.Error("a ledger of no protocol was read")
		}
	})
}

// TestQuotes checks that a ledger quotes the source word by word.
func TestQuotes(t *testing.T) {
	each(t, func(t *testing.T, _ string, l *verdict.Ledger, _ []runner.Planned) {
		sources := map[string][]string{}
		for _, row := range l.Rows() {
			name := documents[row.ID[:2]]
			if !row.Cross && name != l.Source {
				t.Errorf("%s: the ledger is of %s, and the row of %s", row.ID, l.Source, name)
			}
			if sources[name] == nil {
				sources[name] = lines(t, "source/"+name)
			}
			if !slices.ContainsFunc(sources[name], func(line string) bool { return strings.Contains(line, row.Source) }) {
				t.Errorf("%s: no line of %s has %q", row.ID, name, row.Source)
			}
		}
	})
}

// TestAudit checks that every clause is judged or excluded, that every tag and monitor names a clause, and that steps
// declare what they judge.
func TestAudit(t *testing.T) {
	each(t, func(t *testing.T, protocol string, _ *verdict.Ledger, _ []runner.Planned) {
		p := protocols.Get(protocol)
		faults, err := runner.Audit(p)
		if err != nil {
			t.Fatal(err)
		}
		if judges, err := steps.JudgesOf(p); judges == nil {
			t.Errorf("which steps judge what is not said: %v", err)
		}
		for _, fault := range faults {
			t.Error(fault)
		}
	})
}

// TestCrossReferences checks that rows with the same meaning name each other.
func TestCrossReferences(t *testing.T) {
	each(t, func(t *testing.T, _ string, l *verdict.Ledger, _ []runner.Planned) {
		for _, row := range l.Rows() {
			for _, id := range row.See {
				other, ok := l.Row(id)
				if !ok || !other.Cross || !slices.Contains(other.JudgedBy, row.ID) {
					t.Errorf("%s sees %s, which is no row of cross that is judged by it", row.ID, id)
				}
			}
			for _, id := range row.JudgedBy {
				other, ok := l.Row(id)
				if !ok || other.Cross || !row.Cross || !slices.Contains(other.See, row.ID) {
					t.Errorf("%s is judged by %s, which is not a clause of the ledger that sees it", row.ID, id)
				}
			}
		}
	})
}

func TestEveryScenarioJudges(t *testing.T) {
	each(t, func(t *testing.T, _ string, _ *verdict.Ledger, all []runner.Planned) {
		for _, s := range all {
			if len(s.Clauses) == 0 {
				t.Errorf("%s (%s) %q has no clause", s.ID, s.Location, s.Name)
			}
			seen := map[string]bool{}
			for _, id := range s.Clauses {
				if seen[id] {
					t.Errorf("%s (%s) %q has %s twice", s.ID, s.Location, s.Name, id)
				}
				seen[id] = true
			}
		}
	})
}

var (
	fileName = regexp.MustCompile(`\A(\d+[A-Z]?(?:\.\d+)*)_[a-z0-9_]+\.feature\z`)
	heading  = regexp.MustCompile(`\A#{2,4} (\d+(?:\.\d+)*)\.? `)
	// plain matches the headings of session-runtime, which have no #: 4) section, 1.1 part, A) scenario of section 4.
	plain = regexp.MustCompile(`\A(?:(\d)\)|(\d\.\d)|([A-H])\)) `)
)

const plainSource = "session-runtime.zh.md"

// unnumbered maps the numbers that a ledger gives to unnumbered sections of its source to their headings.
var unnumbered = map[string]map[string]string{
	"external-agent.zh.md":  {"0": "外部 Agent 协议（MVP v0.2）"},
	"session-runtime.zh.md": {"0.0": "消息类型总结表格"},
	"session-chat.zh.md":    {"0": "设计理念", "4.1": "前端发送消息", "4.2": "后端返回消息", "5": "Session生命周期"},
}

// sectionsOf lists the sections of a source by number.
func sectionsOf(t *testing.T, source string) map[string]bool {
	t.Helper()
	sections, named := map[string]bool{}, map[string]bool{}
	for _, line := range lines(t, "source/"+source) {
		if m := heading.FindStringSubmatch(line); m != nil {
			sections[m[1]] = true
		}
		if m := plain.FindStringSubmatch(line); m != nil && source == plainSource {
			scenario := m[3]
			if scenario != "" {
				scenario = "4" + scenario
			}
			sections[m[1]+m[2]+scenario] = true
		}
		named[strings.TrimLeft(line, "# ")] = strings.HasPrefix(line, "#") || source == plainSource
	}
	for number, name := range unnumbered[source] {
		if !named[name] || sections[number] {
			t.Errorf("%s has no heading %q, or a section %s of its own", source, name, number)
		}
		sections[number] = true
	}
	return sections
}

// sectionOf returns the section of a file: the one with its number or, for a part of a section, the enclosing one.
func sectionOf(number string, sections map[string]bool) string {
	for !sections[number] && strings.Contains(number, ".") {
		number = number[:strings.LastIndex(number, ".")]
	}
	return number
}

// TestFilesMatchSections checks that a feature file is named and titled after a section of the source, and that every
// section with a testable clause has a file.
func TestFilesMatchSections(t *testing.T) {
	each(t, func(t *testing.T, protocol string, l *verdict.Ledger, all []runner.Planned) {
		sections := sectionsOf(t, l.Source)
		files, err := fs.Glob(features.FS, protocol+"/*.feature")
		if err != nil {
			t.Fatal(err)
		}
		has, covered := map[string]bool{}, map[string]bool{}
		for _, f := range files {
			m := fileName.FindStringSubmatch(path.Base(f))
			switch {
			case m == nil:
				t.Errorf("%s is no name such as 3.1_connection.feature", f)
				continue
			case !sections[sectionOf(m[1], sections)]:
				t.Errorf("%s: %s has no section %s", f, l.Source, m[1])
			case has[m[1]]:
				t.Errorf("%s: section %s has a file already", f, m[1])
			}
			has[m[1]], covered[sectionOf(m[1], sections)] = true, true
			for _, s := range all {
				if strings.Contains(s.Location, "/"+path.Base(f)+":") && !strings.HasPrefix(s.Feature, m[1]+" ") {
					t.Errorf("%s: the feature is called %q", s.Location, s.Feature)
				}
			}
		}
		for _, row := range l.Clauses {
			if !sections[row.Section] {
				t.Errorf("%s: %s has no section %s", row.ID, l.Source, row.Section)
			}
			if row.Tested() && !covered[row.Section] && (l.Source != plainSource || !covered[row.Section[:1]]) {
				t.Errorf("%s is tested, and section %s has no feature file", row.ID, row.Section)
			}
		}
	})
}

var mentioned = regexp.MustCompile(`\b([A-Z]{2})-(\d{3})(?: to [A-Z]{2}-(\d{3}))?`)

// TestRulings checks that rulings refer to existing clauses. The Chinese page also has those on single clauses, which
// the English ones of the ledger say.
func TestRulings(t *testing.T) {
	for page, least := range map[string]map[string]int{
		"RULINGS.md": {"agent-select": 20, "session-chat": 10, "session-runtime": 3, "external-agent": 6},
		"RULINGS.zh.md": {"agent-select": 30, "session-chat": 6, "session-runtime": 8, "external-agent": 20,
			"agent-client": 1},
	} {
		rulings := map[string]string{} // by protocol
		section := ""
		for _, line := range lines(t, page) {
			if name, ok := strings.CutPrefix(line, "## "); ok {
				section = name
			}
			rulings[section] += line + "\n"
		}
		for protocol, n := range least {
			t.Run(page+"/"+protocol, func(t *testing.T) { judgeRulings(t, protocol, rulings[protocol], n) })
		}
	}
}

func judgeRulings(t *testing.T, protocol, text string, least int) {
	l, err := features.Ledger(protocol)
	if err != nil {
		t.Fatal(err)
	}
	found := mentioned.FindAllStringSubmatch(text, -1)
	if len(found) < least {
		t.Fatalf("only %d mentions were found", len(found))
	}
	for _, m := range found {
		first, last := number(m[2]), number(m[2])
		if m[3] != "" {
			last = number(m[3])
		}
		for n := first; n <= last; n++ {
			id := fmt.Sprintf("%s-%03d", m[1], n)
			if _, ok := l.Row(id); !ok {
				t.Errorf("%q names %s, which is not in the ledger", m[0], id)
			}
		}
	}
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}
