// Package catalogue holds the mutants of bundled targets: a YAML file with one row per fault, and the functions that
// put the faults into the options of a target.
package catalogue

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

// Mutant is a row of a catalogue.
type Mutant struct {
	ID         string   `yaml:"id"`         // named after what the target does wrong
	Clauses    []string `yaml:"clauses"`    // the clauses that it breaks; others may suffer, but need not
	Why        string   `yaml:"why"`        // why a real implementation would have this fault
	Control    string   `yaml:"control"`    // tag expression of scenarios that must still pass; may be empty
	Transports []string `yaml:"transports"` // where it shows; all of its protocol's if empty
	Greeting   string   `yaml:"greeting"`   // "broken": a client does not get connected
}

// Reader returns a function that returns the rows of a catalogue, in their order, each time as new copies. The text is
// embedded in the program: the function panics if it is malformed, or has unknown keys.
func Reader(text []byte) func() []Mutant {
	read := sync.OnceValues(func() ([]Mutant, error) {
		var rows []Mutant
		err := yaml.UnmarshalWithOptions(text, &rows, yaml.Strict())
		return rows, err
	})
	return func() []Mutant {
		rows, err := read()
		if err != nil {
			panic(fmt.Errorf("catalogue of mutants: %w", err))
		}
		rows = slices.Clone(rows)
		for i := range rows {
			rows[i].Clauses = slices.Clone(rows[i].Clauses)
			rows[i].Transports = slices.Clone(rows[i].Transports)
		}
		return rows
	}
}

// Set is a catalogue with its faults: functions that change the options O of a target.
type Set[O any] struct {
	All    func() []Mutant // the rows, in their order
	text   []byte
	faults map[string]func(*O)
}

// New makes a set of a catalogue and the faults by id, grouped by subject. It panics if two groups have the same id.
func New[O any, F ~func(*O)](text []byte, groups ...map[string]F) Set[O] {
	s := Set[O]{All: Reader(text), text: text, faults: map[string]func(*O){}}
	for _, group := range groups {
		for id, fault := range group {
			if s.faults[id] != nil {
				panic(fmt.Sprintf("mutant %s has two faults", id))
			}
			s.faults[id] = fault
		}
	}
	return s
}

// IDs are the ids of all faults, sorted.
func (s Set[O]) IDs() []string { return slices.Sorted(maps.Keys(s.faults)) }

// Put puts the fault of an id into options; "" puts none. It fails for an unknown id.
func (s Set[O]) Put(id string, o *O) error {
	if id == "" {
		return nil
	}
	fault, ok := s.faults[id]
	if !ok {
		return fmt.Errorf("no mutant %q", id)
	}
	fault(o)
	return nil
}

var (
	kebab = regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)
	// a row that is commented out, as no scenario kills the mutant yet
	survivor = regexp.MustCompile(`(?m)^# - id: (\S+)$`)
)

// Problems reports what is wrong with the set: rows and faults that lack each other, and incomplete rows. tested
// reports whether a clause is tested.
func (s Set[O]) Problems(tested func(clause string) bool) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	rows := map[string]bool{}
	add := func(id string) {
		if rows[id] || !kebab.MatchString(id) {
			say("%s: the id has two rows, or is not in kebab case", id)
		}
		if rows[id] = true; s.faults[id] == nil {
			say("%s has no fault", id)
		}
	}
	for _, m := range s.All() {
		add(m.ID)
		if m.Why == "" || len(m.Clauses) == 0 {
			say("%s lacks why or clauses", m.ID)
		}
		for _, clause := range m.Clauses {
			if !tested(clause) {
				say("%s: clause %s is not tested", m.ID, clause)
			}
		}
	}
	for _, row := range survivor.FindAllSubmatch(s.text, -1) {
		add(string(row[1]))
	}
	for _, id := range s.IDs() {
		if !rows[id] {
			say("%s has no row", id)
		}
	}
	return found
}
