// Package mutants is the catalogue of faulty pages of agent-client: each is the bundled one with one named fault that
// a real page might have, and breaks few clauses. They prove that the suite finds faults.
//
// A fault is a patch of the served files, so the correct page contains none. The rows are in the YAML files, by
// subject. Frequent control scenarios, which must pass in spite of a fault, are @connect (before the connection),
// @AC-098 (a list is shown), @preflight-3 (a switch is requested), @AC-065 (it succeeds), @AC-048 (it is refused) and
// @AC-095 (an agent is preselected).
package mutants

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"

	"parley/reference-server/agentclient"
	"parley/reference-server/catalogue"
)

// Mutant is a faulty page.
type Mutant struct {
	ID      string   `yaml:"id"`      // what the page does wrong
	Clauses []string `yaml:"clauses"` // the clauses that it must break; it may break others
	Why     string   `yaml:"why"`     // how a real page acquires this fault
	Control string   `yaml:"control"` // tag expression of scenarios that must still pass
	Found   string   `yaml:"found"`   // for a correct fault that no scenario finds: what would find it; else ""
	Cut     bool     `yaml:"cut"`     // found only by cuts (`parley run --cut-points`), not by scenarios
	Patches []Patch  `yaml:"patches"`
}

// Patch is a change of one file of the page.
type Patch struct {
	File string `yaml:"file"` // its name, such as "agents.js"
	Old  string `yaml:"old"`  // text to replace, which must occur once; "": append New
	New  string `yaml:"new"`
}

//go:embed *.yaml
var texts embed.FS

// subjects lists the files of the catalogue, in order.
var subjects = []string{
	"lists", "places", "switching", "requests", "preselection", "switched", "errors", "logs", "loss", "overlooked", "cuts",
}

// OtherSelectorID is the selector's id in a page that does not follow the document.
const OtherSelectorID = "agentSelector"

// every returns the catalogue including the faults that no scenario finds.
var every = sync.OnceValue(parse)

// parse reads the catalogue, including the faults that no scenario finds, from its texts. They are embedded: it panics
// if one is malformed.
func parse() (all []Mutant) {
	for _, name := range subjects {
		var rows []Mutant
		if err := yaml.UnmarshalWithOptions(text(name), &rows, yaml.Strict()); err != nil {
			panic(fmt.Errorf("catalogue of mutants: %s: %w", name, err))
		}
		all = append(all, rows...)
	}
	return all
}

func text(name string) []byte {
	text, err := texts.ReadFile(name + ".yaml")
	if err != nil {
		panic(fmt.Errorf("catalogue of mutants: %w", err))
	}
	return text
}

// All returns the catalogue in order. The caller owns the slice.
func All() []Mutant {
	all := slices.DeleteFunc(slices.Clone(every()), func(m Mutant) bool { return m.Found != "" })
	for i := range all {
		all[i].Clauses, all[i].Patches = slices.Clone(all[i].Clauses), slices.Clone(all[i].Patches)
	}
	return all
}

// Rows returns the catalogue in order, in the form used for servers.
func Rows() []catalogue.Mutant {
	var out []catalogue.Mutant
	for _, m := range All() {
		out = append(out, catalogue.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Cut: m.Cut})
	}
	return out
}

// Options returns o with the patches of a mutant; an id of "" means the correct page. It fails for an unknown id.
func Options(id string, o agentclient.Options) (agentclient.Options, error) {
	if id == "" {
		return o, nil
	}
	all := All()
	i := slices.IndexFunc(all, func(m Mutant) bool { return m.ID == id })
	if i < 0 {
		return o, fmt.Errorf("no mutant %q", id)
	}
	o.Patch = all[i].Patch
	return o, nil
}

// Patch returns the patched content of a file of the bundled page; it may modify body. It panics if the text to
// replace does not occur exactly once, which means that the catalogue is out of step with the page.
func (m Mutant) Patch(name string, body []byte) []byte {
	for _, p := range m.Patches {
		if p.File != name {
			continue
		}
		var err error
		if body, err = p.apply(body); err != nil {
			panic(fmt.Sprintf("mutant %s: %s: %v", m.ID, name, err))
		}
	}
	return body
}

func (p Patch) apply(body []byte) ([]byte, error) {
	if p.Old == "" {
		return append(body, "\n"+p.New+"\n"...), nil
	}
	if n := bytes.Count(body, []byte(p.Old)); n != 1 {
		return body, fmt.Errorf("%q stands there %d times", p.Old, n)
	}
	return bytes.Replace(body, []byte(p.Old), []byte(p.New), 1), nil
}
