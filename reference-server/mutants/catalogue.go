package mutants

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

// Mutant is a row of the catalogue.
type Mutant struct {
	ID         string   `yaml:"id"`
	Clauses    []string `yaml:"clauses"`    // those that it breaks; another may suffer, but need not
	Why        string   `yaml:"why"`        // why a real implementation would have this fault
	Control    string   `yaml:"control"`    // tag expression of scenarios that must still pass; may be empty
	Transports []string `yaml:"transports"` // where it shows; both if empty
	Greeting   string   `yaml:"greeting"`   // "broken": a client does not get connected, its id, and a list
}

//go:embed catalogue.yaml
var catalogueYAML []byte

var catalogue = sync.OnceValues(func() ([]Mutant, error) {
	var rows []Mutant
	if err := yaml.UnmarshalWithOptions(catalogueYAML, &rows, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("catalogue of mutants: %w", err)
	}
	return rows, nil
})

// All returns the catalogue, in its order.
func All() []Mutant {
	rows, err := catalogue()
	if err != nil {
		panic(err) // embedded, and read by the tests
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Clauses = slices.Clone(rows[i].Clauses)
		rows[i].Transports = slices.Clone(rows[i].Transports)
	}
	return rows
}
