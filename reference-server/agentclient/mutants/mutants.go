// Package mutants is the catalogue of faulty pages of agent-client: each is the bundled one with a single named fault
// that a real page might have, and each breaks few clauses. They prove that the suite bites.
//
// A fault is a patch of the files that are served, so that none stands inside the correct page. The rows stand in the
// YAML files, by subject. Scenarios that often have to pass in spite of a fault, its control, are @connect (before the
// connection), @AC-098 (a list is shown), @preflight-3 (a switch is requested), @AC-065 (it succeeds), @AC-048 (it is
// refused) and @AC-095 (an agent is preselected).
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
	ID      string   `yaml:"id"`      // named after what the page does wrong
	Clauses []string `yaml:"clauses"` // those that it breaks; another may suffer, but need not
	Why     string   `yaml:"why"`     // why a real page would have this fault
	Control string   `yaml:"control"` // tag expression of scenarios that must still pass
	Found   string   `yaml:"found"`   // of a right fault that nothing finds: what would; "": it is found
	Patches []Patch  `yaml:"patches"`
}

// Patch is a change of one file of the page.
type Patch struct {
	File string `yaml:"file"` // its name, such as "agents.js"
	Old  string `yaml:"old"`  // what is replaced; it stands there once. "": New is appended
	New  string `yaml:"new"`
}

//go:embed *.yaml
var texts embed.FS

// subjects are the files of the catalogue, in its order.
var subjects = []string{
	"lists", "places", "switching", "requests", "preselection", "switched", "errors", "logs", "loss", "overlooked",
}

// OtherSelectorID is the id of the selector of a page that does not follow the document.
const OtherSelectorID = "agentSelector"

// every is the catalogue with the faults that nothing finds. The texts are embedded: it panics if one is malformed.
var every = sync.OnceValue(func() (all []Mutant) {
	for _, name := range subjects {
		text, err := texts.ReadFile(name + ".yaml")
		if err != nil {
			panic(fmt.Errorf("catalogue of mutants: %w", err))
		}
		var rows []Mutant
		if err := yaml.UnmarshalWithOptions(text, &rows, yaml.Strict()); err != nil {
			panic(fmt.Errorf("catalogue of mutants: %s: %w", name, err))
		}
		all = append(all, rows...)
	}
	return all
})

// All returns the catalogue, in its order. It is the caller's to keep.
func All() []Mutant {
	all := slices.DeleteFunc(slices.Clone(every()), func(m Mutant) bool { return m.Found != "" })
	for i := range all {
		all[i].Clauses, all[i].Patches = slices.Clone(all[i].Clauses), slices.Clone(all[i].Patches)
	}
	return all
}

// Rows returns the catalogue as that of a server, in its order.
func Rows() []catalogue.Mutant {
	var out []catalogue.Mutant
	for _, m := range All() {
		out = append(out, catalogue.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control})
	}
	return out
}

// Options returns the options of the mutant of that id, "" for the correct page: o with its patches. It fails for an id
// that has no row.
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

// Patch returns what is served in place of a file of the bundled page, which it may change. It panics if what a patch
// replaces does not stand there once: the catalogue is then behind the page.
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
