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

// Needs is the preflight stage that the target must have reached: 1 connected and told the agents, 2 given a session, 3
// answered a switch. What is about connecting needs none.
func (p Planned) Needs() int {
	switch {
	case p.Stage > 0:
		return p.Stage - 1
	case p.has("@connect"):
		return 0
	}
	return 3
}

// Scenarios lists every scenario of a protocol, in the order of its feature files.
func Scenarios(fsys fs.FS, protocol string) ([]Planned, error) {
	features, err := godog.TestSuite{Name: protocol, Options: &godog.Options{FS: fsys, Paths: []string{protocol}, DefaultContext: nil}}.RetrieveFeatures()
	if err != nil {
		return nil, fmt.Errorf("read features of %s: %w", protocol, err)
	}
	var out []Planned
	for _, f := range features {
		section, _, _ := strings.Cut(strings.TrimSuffix(path.Base(f.Uri), ".feature"), "_")
		for i, p := range f.Pickles {
			pl := Planned{Name: p.Name, Feature: f.Feature.Name, key: pickleKey(p)}
			pl.ID = fmt.Sprintf("%s-%s-%02d", prefix(protocol), section, i+1)
			pl.describe(f.GherkinDocument, p)
			out = append(out, pl)
		}
	}
	return out, nil
}

// prefix of scenario ids, which is that of the protocol's clauses.
func prefix(protocol string) string {
	return map[string]string{"agent-select": "AS", "agent-client": "AC", "session-chat": "SC", "session-runtime": "RT", "external-agent": "EA"}[protocol]
}

// pickleKey identifies a scenario, an Examples row included, in every parse of the same files.
func pickleKey(p *messages.Pickle) string { return p.Uri + "#" + strings.Join(p.AstNodeIds, ",") }

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
	pl.Location = fmt.Sprintf("features/%s:%d", p.Uri, line)
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
func forDriver(all []Planned, driver string, sel tags.Expr) []Planned {
	var out []Planned
	for _, p := range all {
		if p.has("@sse") && driver == "ws" || p.has("@ws") && driver != "ws" {
			continue
		}
		if driver == "r3labs" && p.Stage == 0 && !p.has("@interop") {
			continue
		}
		if p.Stage > 0 || sel.Match(p.Tags) {
			out = append(out, p)
		}
	}
	return out
}
