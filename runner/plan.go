package runner

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"parley/runner/tags"
	"parley/steps"
)

// Planned is one scenario that a run intends to run over one driver. The list is fixed before the first one starts.
type Planned struct {
	ID       string // <prefix>-<section>-<nn>, nn counts the scenarios of the feature file
	Name     string
	Feature  string
	Rule     string
	Location string // features/<protocol>/<file>:<line>
	Tags     []string
	Clauses  []string
	Stage    int // 1 to 3 for preflight, 0 for the rest
	key      string
}

// Exclusive tells whether the scenario needs the target for itself.
func (p Planned) Exclusive() bool { return p.has("@exclusive") }

func (p Planned) has(tag string) bool {
	for _, t := range p.Tags {
		if t == tag {
			return true
		}
	}
	return false
}

// Needs is how far the target must have come in preflight for the scenario to be asked.
func (p Planned) Needs() steps.Reach {
	switch {
	case p.Stage > 0:
		return []steps.Reach{steps.Nothing, steps.Nothing, steps.Greeted, steps.Given}[p.Stage]
	case p.has("@connect"):
		return steps.Opened
	}
	return steps.Answered
}

// Scenarios lists every scenario of a protocol, in the order of its feature files. Two that say the same in one file are an
// error: they would be one.
func Scenarios(fsys fs.FS, protocol string) ([]Planned, error) {
	features, err := retrieve(fsys, "", protocol)
	if err != nil {
		return nil, fmt.Errorf("read features of %s: %w", protocol, err)
	}
	var out []Planned
	known := map[string]string{}
	for _, f := range features {
		section, _, _ := strings.Cut(path.Base(f.doc.Uri), "_")
		for i, p := range f.pickles {
			pl := Planned{Name: p.Name, Feature: f.doc.Feature.Name, key: pickleKey(p)}
			pl.ID = fmt.Sprintf("%s-%s-%02d", prefix(protocol), section, i+1)
			pl.describe(f.doc, p)
			if first, twice := known[pl.key]; twice {
				return nil, fmt.Errorf("read features of %s: the scenarios at %s and %s say the same: leave one out", protocol, first, pl.Location)
			}
			known[pl.key] = pl.Location
			out = append(out, pl)
		}
	}
	return out, nil
}

// feature is one parsed file: godog's own type has no name outside of it.
type feature struct {
	doc     *messages.GherkinDocument
	pickles []*messages.Pickle
}

func retrieve(fsys fs.FS, tags string, paths ...string) ([]feature, error) {
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

// keep leaves the scenarios that godog's own options select, with the ids that they have among all.
func keep(all []Planned, fsys fs.FS, protocol string, g GodogOptions) ([]Planned, error) {
	if g.Tags == "" && len(g.Paths) == 0 {
		return all, nil
	}
	paths := g.Paths
	if len(paths) == 0 {
		paths = []string{protocol}
	}
	features, err := retrieve(fsys, g.Tags, paths...)
	if err != nil {
		return nil, &UsageError{Msg: "select features: " + err.Error()}
	}
	chosen := map[string]bool{}
	for _, f := range features {
		for _, p := range f.pickles {
			var pl Planned
			pl.describe(f.doc, p)
			chosen[pl.Location] = true
		}
	}
	if len(chosen) == 0 {
		return nil, &UsageError{Msg: fmt.Sprintf("the selection %q selects no scenario; godog's tags are joined by &&, and excluded by ~", strings.TrimSpace(g.Tags+" "+strings.Join(g.Paths, " ")))}
	}
	var out []Planned
	for _, p := range all {
		if chosen[p.Location] || p.Stage > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// prefix of scenario ids, which is that of the protocol's clauses.
func prefix(protocol string) string {
	return map[string]string{"agent-select": "AS", "agent-client": "AC", "session-chat": "SC", "session-runtime": "RT", "external-agent": "EA"}[protocol]
}

// pickleKey identifies a scenario, an Examples row included, by what it says: godog's ids count through all files of a parse,
// and change with the files that are read.
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
		say(t.Name)
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
	return b.String()
}

func (pl *Planned) describe(doc *messages.GherkinDocument, p *messages.Pickle) {
	for _, t := range p.Tags {
		pl.Tags = append(pl.Tags, t.Name)
		if id := strings.TrimPrefix(t.Name, "@"); steps.IsClause(id) {
			pl.Clauses = append(pl.Clauses, id)
		}
		if n, ok := strings.CutPrefix(t.Name, "@preflight-"); ok && len(n) == 1 {
			pl.Stage = int(n[0] - '0')
		}
	}
	last := p.AstNodeIds[len(p.AstNodeIds)-1]
	line := int64(0)
	eachScenario(doc.Feature, func(rule string, s *messages.Scenario) {
		if s.Id == p.AstNodeIds[0] {
			pl.Rule, line = rule, s.Location.Line
		}
		for _, e := range s.Examples {
			for _, row := range e.TableBody {
				if row.Id == last {
					line = row.Location.Line
				}
			}
		}
	})
	file, _, _ := strings.Cut(p.Uri, ".feature") // a selection by line leaves the line in the name
	pl.Location = fmt.Sprintf("features/%s.feature:%d", file, line)
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

// forDriver leaves out what is about another transport, and what the selection leaves out. Preflight always runs: the
// rest hangs on it.
func forDriver(all []Planned, driver string, sel tags.Expr, unguarded bool) []Planned {
	var out []Planned
	for _, p := range all {
		if p.has("@sse") && driver == "ws" || p.has("@ws") && driver != "ws" {
			continue
		}
		if driver == "r3labs" && p.Stage == 0 && !p.has("@interop") {
			continue
		}
		if p.Stage > 0 && !unguarded || sel.Match(p.Tags) {
			out = append(out, p)
		}
	}
	return out
}
