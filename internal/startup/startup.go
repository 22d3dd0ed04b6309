// Package startup makes the start of a program cheap, if its package main imports it: the package of godog that builds
// test programs starts `go env` when it is initialized, and the collections of a heap of a few megabytes take a tenth
// of a start. While packages are initialized, the process therefore has no PATH, so that godog finds no such command,
// and few collections, unless GOGC is set. Other programs should not import it: their packages may look for commands
// then.
package startup

import (
	_ "github.com/cucumber/godog" // initialized before this package

	"parley/internal/startup/first"
)

func init() { first.Restore() }
