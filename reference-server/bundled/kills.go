package bundled

import _ "embed"

// Kills are the kill matrices of the suite in the form that certificates refer to. They are of the suite whose digest
// they name; `make kill-matrix` brings them up to date.
//
//go:embed kills.json
var Kills []byte
