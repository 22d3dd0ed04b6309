// Package catalogue reads the mutants of bundled targets: a YAML file with one row per fault. The row says what the
// fault does to messages, or a function puts it into a target's options.
package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"

	"parley/internal/yamltext"
)

// Mutant is a row of a catalogue.
type Mutant struct {
	ID         string   `yaml:"id"`         // what the target does wrong
	Clauses    []string `yaml:"clauses"`    // the clauses that it must break; it may break others
	Why        string   `yaml:"why"`        // how a real implementation acquires this fault
	Control    string   `yaml:"control"`    // tag expression of scenarios that must still pass; may be empty
	Transports []string `yaml:"transports"` // where it shows; if empty, on all transports of its protocol
	Cut        bool     `yaml:"cut"`        // found only by cuts (`parley run --cut-points`), not by scenarios
	Greeting   string   `yaml:"greeting"`   // "broken": clients can't connect
	Shows      string   `yaml:"shows"`      // "errors": a load finds it by acts that fail, and not by its clauses
	Fault      Faults   `yaml:"fault"`      // what it does to messages; "": it has a function

	Vars map[string]any `yaml:"vars"` // of a script that plays the server: other first values of its variables
}

// Reader returns a function that returns new copies of the rows of a catalogue, in order. The text is embedded in the
// program: the function panics if it is malformed or has unknown keys.
func Reader(text []byte) func() []Mutant {
	read := sync.OnceValues(func() ([]Mutant, error) { return Read(text) })
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

// Read reads the rows of a catalogue. The error begins with the line and the column, as in "3:5: ".
func Read(text []byte) ([]Mutant, error) {
	var rows []Mutant
	err := yamltext.Strict(text, &rows)
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		pos := at.GetToken().Position
		return nil, fmt.Errorf("%d:%d: %s", pos.Line, pos.Column, at.GetMessage())
	}
	if err != nil {
		return nil, fmt.Errorf(" %w", err)
	}
	return rows, nil
}

// Set is a catalogue with its faults: functions that change the options O of a target.
type Set[O any] struct {
	All    func() []Mutant            // the rows, in order
	faults func() map[string]func(*O) // by id; the rows are read by the first call, and not before main begins
	text   []byte
}

// New combines a catalogue with its functions by id, grouped by subject. It panics if two groups share an id.
func New[O any, F ~func(*O)](text []byte, groups ...map[string]F) Set[O] {
	faults := map[string]func(*O){}
	for _, group := range groups {
		for id, fault := range group {
			if faults[id] != nil {
				panic(fmt.Sprintf("mutant %s has two faults", id))
			}
			faults[id] = fault
		}
	}
	return Set[O]{All: Reader(text), faults: func() map[string]func(*O) { return faults }, text: text}
}

// Messages adds what the rows themselves say: put puts it into a target's options. The set panics if such a mutant has
// a function too.
func (s Set[O]) Messages(put func(o *O, f Faults)) Set[O] {
	functions := s.faults
	s.faults = sync.OnceValue(func() map[string]func(*O) {
		faults := maps.Clone(functions())
		for _, m := range s.All() {
			if m.Fault == "" {
				continue
			}
			if faults[m.ID] != nil {
				panic(fmt.Sprintf("mutant %s has two faults", m.ID))
			}
			faults[m.ID] = func(o *O) { put(o, m.Fault) }
		}
		return faults
	})
	return s
}

// IDs returns the ids of all faults, sorted.
func (s Set[O]) IDs() []string { return slices.Sorted(maps.Keys(s.faults())) }

// Put puts the fault with that id into the options; "" puts none. It fails for an unknown id.
func (s Set[O]) Put(id string, o *O) error {
	if id == "" {
		return nil
	}
	fault, ok := s.faults()[id]
	if !ok {
		return fmt.Errorf("no mutant %q", id)
	}
	fault(o)
	return nil
}

var (
	kebab = regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)
	// a row commented out because no scenario kills the mutant yet
	survivor = regexp.MustCompile(`(?m)^# - id: (\S+)$`)
)

// Problems returns what is wrong with the set: rows without faults, faults without rows, and incomplete rows. tested
// reports whether a clause is tested.
func (s Set[O]) Problems(tested func(clause string) bool) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	rows := map[string]bool{}
	add := func(id string) {
		if rows[id] || !kebab.MatchString(id) {
			say("%s: the id has two rows, or is not in kebab case", id)
		}
		if rows[id] = true; s.faults()[id] == nil {
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
