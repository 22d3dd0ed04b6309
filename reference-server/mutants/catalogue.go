package mutants

import (
	_ "embed"

	"parley/reference-server/mutants/catalogue"
)

// Mutant is a row of the catalogue.
type Mutant = catalogue.Mutant

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []Mutant { return rows() }
