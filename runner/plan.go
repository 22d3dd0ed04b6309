package runner

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/features/verdict"
	"parley/runner/tags"
	"parley/steps"
)

// Planned is one scenario that a run will execute over one driver. The list is fixed before the first one starts.
type Planned struct {
	ID       string // <prefix>-<section>-<nn>, as a tag gives it, or nn counts the scenarios of the feature file
	Name     string
	Feature  string
	Rule     string
	Location string // features/<protocol>/<file>:<line>; in the folder of the protocol if it has one
	Tags     []string
	Clauses  []string
	Stage    int // 1 to 3 for preflight, 0 for the rest
	marks    []string
	key      string
	file     string        // the feature file, within the features; "" for a random sequence
	span     span          // of the suite's own scenarios
	steps    []writtenStep // those of a Background first; nil if it is in no file
}

// Exclusive reports whether the scenario needs a target to itself.
func (p Planned) Exclusive() bool { return p.hasTag("@exclusive") }

// isLong reports whether the scenario waits for seconds, also if the target is right. It then begins before the others,
// since at the end nothing else would be left to do while it waits.
func (p Planned) isLong() bool { return p.hasTag("@long") }

// Marks returns what a tag expression may name: the scenario's tags; its id, the section that its feature file tests,
// and the levels of its clauses, each as a tag (@AS-4.1-06, @4.1, @MUST).
func (p Planned) Marks() []string { return slices.Concat(p.Tags, []string{"@" + p.ID}, p.marks) }

func (p Planned) hasTag(tag string) bool {
	return slices.Contains(p.Tags, tag)
}

// Needs returns the preflight progress that the scenario requires.
func (p Planned) Needs() steps.Reach {
	switch {
	case p.Stage > 0:
		return []steps.Reach{steps.Nothing, steps.Nothing, steps.Greeted, steps.Given}[p.Stage]
	case p.hasTag("@connect"):
		return steps.Opened
	}
	return steps.Answered
}

// Scenarios lists every scenario of a protocol, in the order of its feature files. Two identical scenarios in one
// file are an error, because they would count as one.
func Scenarios(fsys fs.FS, p steps.Protocol) ([]Planned, error) {
	embedded, ok := fsys.(embed.FS)
	if !ok {
		return readScenarios(fsys, p)
	}
	key := embeddedSuite{embedded, steps.Name(p)}
	if known, ok := suites.Load(key); ok {
		return slices.Clone(known.([]Planned)), nil
	}
	all, err := readScenarios(fsys, p)
	if err == nil {
		suites.Store(key, slices.Clone(all))
	}
	return all, err
}

// embeddedSuite identifies features that cannot change.
type embeddedSuite struct {
	files    embed.FS
	protocol string
}

// suites holds the scenarios of each embedded suite: parsing them takes longer than many a run.
var suites sync.Map

func readScenarios(fsys fs.FS, p steps.Protocol) ([]Planned, error) {
	protocol := steps.Name(p)
	features, err := parseFeatures(fsys, "", protocol)
	if err != nil {
		return nil, fmt.Errorf("read features of %s: %w", protocol, err)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	var out []Planned
	known := map[string]string{}
	for _, f := range features {
		section, _, _ := strings.Cut(path.Base(f.doc.Uri), "_")
		within, lines := scenarioSpans(f.doc.Feature), stepLines(f)
		rows := map[int]int{} // of the Examples at one given number
		for i, pickle := range f.pickles {
			number := i + 1
			if given, ok := givenNumber(pickle, p.Kind().Prefix+"-"+section); ok {
				number = given + rows[given]
				rows[given]++
			}
			pl := Planned{Name: pickle.Name, Feature: f.doc.Feature.Name, key: pickleKey(pickle),
				span: within[pickle.AstNodeIds[0]], steps: lines.stepsOf(pickle)}
			pl.ID = fmt.Sprintf("%s-%s-%02d", p.Kind().Prefix, section, number)
			pl.describePlanned(p, f.doc, pickle)
			pl.marks = append(levelTags(pl, ledger), "@"+section)
			if first, twice := known[pl.key]; twice {
				return nil, fmt.Errorf("read features of %s: the scenarios at %s and %s are identical: leave one out", protocol,
					first, pl.Location)
			}
			if other, twice := known[pl.ID]; twice {
				return nil, fmt.Errorf("read features of %s: the scenarios at %s and %s have the same id, %s: give one another",
					protocol, other, pl.Location, pl.ID)
			}
			known[pl.key], known[pl.ID] = pl.Location, pl.Location
			out = append(out, pl)
		}
	}
	return out, nil
}

// idTag is a tag that gives a scenario its id, and the first row of its Examples.
var idTag = regexp.MustCompile(`\A@[A-Z]+-[^-]+-\d{2,}\z`)

// givenNumber returns the number that a tag gives a scenario of a section, such as "SC-4.2".
func givenNumber(pickle *messages.Pickle, section string) (number int, ok bool) {
	for _, t := range pickle.Tags {
		if digits, mine := strings.CutPrefix(t.Name, "@"+section+"-"); mine && idTag.MatchString(t.Name) {
			number, _ = strconv.Atoi(digits)
			return number, true
		}
	}
	return 0, false
}

// levelTags returns the levels of a scenario's clauses, as tags.
func levelTags(pl Planned, ledger *verdict.Ledger) (all []string) {
	for _, id := range pl.Clauses {
		row, _ := ledger.Row(id)
		if tag := "@" + string(row.Level); row.Level != "" && !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}

// feature is one parsed file; godog's own type is not exported.
type feature struct {
	doc     *messages.GherkinDocument
	pickles []*messages.Pickle
}

func parseFeatures(fsys fs.FS, tags string, paths ...string) ([]feature, error) {
	found, err := godog.TestSuite{Options: &godog.Options{FS: fsys, Paths: paths, Tags: tags}}.RetrieveFeatures()
	if err != nil {
		return nil, err
	}
	var out []feature
	for _, f := range found {
		out = append(out, feature{f.GherkinDocument, f.Pickles})
	}
	return out, nil
}

// keepSelected returns the scenarios selected by godog's own options, with the ids that they have among all.
func keepSelected(all []Planned, fsys fs.FS, of steps.Protocol, g GodogOptions) ([]Planned, error) {
	if g.Tags == "" && len(g.Paths) == 0 {
		return all, nil
	}
	paths := g.Paths
	if len(paths) == 0 {
		paths = []string{steps.Name(of)}
	}
	features, err := parseFeatures(fsys, g.Tags, paths...)
	if err != nil {
		return nil, &UsageError{Msg: "select features: " + err.Error()}
	}
	chosen := map[string]bool{}
	for _, f := range features {
		for _, p := range f.pickles {
			var pl Planned
			pl.describePlanned(of, f.doc, p)
			chosen[pl.Location] = true
		}
	}
	if len(chosen) == 0 {
		return nil, &UsageError{Msg: fmt.Sprintf("the selection %q selects no scenario; godog's tags are joined by &&, "+
			"and excluded by ~", strings.TrimSpace(g.Tags+" "+strings.Join(g.Paths, " ")))}
	}
	var out []Planned
	for _, p := range all {
		if chosen[p.Location] || p.Stage > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// pickleKey identifies a scenario, or one row of its Examples, by its content: godog's ids count through all files of
// a parse, and change with the files that are read.
func pickleKey(p *messages.Pickle) string {
	var b strings.Builder
	say := func(parts ...string) {
		for _, s := range parts {
			b.WriteString(s)
			b.WriteByte(0)
		}
	}
	say(p.Uri, p.Name)
	for _, t := range p.Tags {
		if !idTag.MatchString(t.Name) {
			say(t.Name)
		}
	}
	for _, s := range p.Steps {
		say("\n", s.Text)
		switch a := s.Argument; {
		case a == nil:
		case a.DocString != nil:
			say(a.DocString.MediaType, a.DocString.Content)
		case a.DataTable != nil:
			for _, row := range a.DataTable.Rows {
				say("|")
				for _, cell := range row.Cells {
					say(cell.Value)
				}
			}
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:16])
}

// describePlanned adds what the file of a scenario says of it. Its place is that in the folder of a protocol that has
// one: there its user finds it.
func (p *Planned) describePlanned(of steps.Protocol, doc *messages.GherkinDocument, pickle *messages.Pickle) {
	for _, t := range pickle.Tags {
		if idTag.MatchString(t.Name) {
			continue
		}
		p.Tags = append(p.Tags, t.Name)
		if id := strings.TrimPrefix(t.Name, "@"); steps.IsClause(id) {
			p.Clauses = append(p.Clauses, id)
		}
		if n, ok := strings.CutPrefix(t.Name, "@preflight-"); ok && len(n) == 1 {
			p.Stage = int(n[0] - '0')
		}
	}
	last := pickle.AstNodeIds[len(pickle.AstNodeIds)-1]
	line := int64(0)
	eachScenario(doc.Feature, func(rule string, s *messages.Scenario) {
		if s.Id == pickle.AstNodeIds[0] {
			p.Rule, line = rule, s.Location.Line
		}
		for _, e := range s.Examples {
			for _, row := range e.TableBody {
				if row.Id == last {
					line = row.Location.Line
				}
			}
		}
	})
	file, _, _ := strings.Cut(pickle.Uri, ".feature") // a selection by line leaves the line number in the URI
	p.file = file + ".feature"
	at := "features/" + p.file
	if folder := steps.FolderOf(of); folder != "" {
		at = strings.TrimSuffix(filepath.ToSlash(folder), "/") + strings.TrimPrefix(p.file, steps.Name(of))
	}
	p.Location = fmt.Sprintf("%s:%d", at, line)
}

func eachScenario(f *messages.Feature, visit func(rule string, s *messages.Scenario)) {
	for _, c := range f.Children {
		if c.Scenario != nil {
			visit("", c.Scenario)
		}
		if c.Rule == nil {
			continue
		}
		for _, rc := range c.Rule.Children {
			if rc.Scenario != nil {
				visit(c.Rule.Name, rc.Scenario)
			}
		}
	}
}

// forDriver returns the scenarios for a driver: without those about another transport, and without those outside the
// selection. Preflight always runs, because the rest depends on it.
func forDriver(all []Planned, driver string, sel tags.Expr, unguarded bool) []Planned {
	var out []Planned
	for _, p := range all {
		if p.hasTag("@sse") && driver == "ws" || p.hasTag("@ws") && driver != "ws" {
			continue
		}
		if driver == "r3labs" && p.Stage == 0 && !p.hasTag("@interop") {
			continue
		}
		if p.Stage > 0 && !unguarded || sel.Match(p.Marks()) {
			out = append(out, p)
		}
	}
	return out
}

// Plan returns the scenarios that a run selects, over any of its drivers, in the order of the suite, without running
// anything. Preflight scenarios outside the selection are left out, although they run. It returns a *UsageError if the
// run is impossible.
func Plan(o Options) ([]Planned, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	defer r.closeRun()
	sel, err := tags.Parse(o.Tags)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	var all []Planned
	for _, d := range r.drivers {
		for _, pl := range d.plan {
			known := slices.ContainsFunc(all, func(p Planned) bool { return p.ID == pl.ID })
			if !known && sel.Match(pl.Marks()) {
				all = append(all, pl)
			}
		}
	}
	return all, nil
}

// Only returns the tag expression that selects those of the scenarios that an expression selects; "" selects all.
func Only(expr string, scenarios []Planned) string {
	var ids []string
	for _, pl := range scenarios {
		ids = append(ids, "@"+pl.ID)
	}
	only := strings.Join(ids, " or ")
	if strings.TrimSpace(expr) == "" {
		return only
	}
	return "(" + expr + ") and (" + only + ")"
}

// StepTexts returns the steps of the scenario with their keywords, those of a Background first.
func (p Planned) StepTexts() (texts []string) {
	for _, st := range p.steps {
		texts = append(texts, st.text)
	}
	return texts
}

// stepLine returns the line of the scenario's file on which a step is written, numbered from 1; 0 if it is in no file.
func (p Planned) stepLine(step int) int64 {
	if step < 1 || step > len(p.steps) {
		return 0
	}
	return p.steps[step-1].line
}

// stepPlace returns where a step is written, as file:line; "" if it is in no file.
func (p Planned) stepPlace(step int) string {
	line := p.stepLine(step)
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.Location[:strings.LastIndexByte(p.Location, ':')], line)
}
