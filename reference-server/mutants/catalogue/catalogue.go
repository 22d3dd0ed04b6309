// Package catalogue reads the catalogues of mutants: YAML, one row per fault of a bundled server.
package catalogue

import (
	"fmt"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

// Mutant is a row of a catalogue.
type Mutant struct {
	ID         string   `yaml:"id"`         // named after what the server does wrong
	Clauses    []string `yaml:"clauses"`    // those that it breaks; another may suffer, but need not
	Why        string   `yaml:"why"`        // why a real implementation would have this fault
	Control    string   `yaml:"control"`    // tag expression of scenarios that must still pass; may be empty
	Transports []string `yaml:"transports"` // where it shows; all of its protocol's if empty
	Greeting   string   `yaml:"greeting"`   // "broken": a client does not get connected
}

// Reader returns a function that returns the rows of a catalogue, in their order, each time as new copies. The text is
// one that is embedded: the function panics if it is malformed, or has keys that no row has.
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
