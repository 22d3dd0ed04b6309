// Package features embeds the scenarios and the ledger of ticket-desk.
package features

import "embed"

// FS has the suite, in the folder of the protocol's id.
//
//go:embed */*.feature */clauses.yaml
var FS embed.FS

// Doctor has the scenarios by which a profile is examined. They do not belong to the suite.
//
//go:embed */doctor/*.feature
var Doctor embed.FS
