// Command leftout prints what `make test` leaves out and which command runs it.
package main

import (
	"fmt"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/steps/protocols"
)

func main() {
	run, all := 0, 0
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			mutants := bundled.All.Mutants(protocols.Kinds(), protocol, role)
			run += len(runner.Cover(mutants))
			all += len(mutants)
		}
	}
	fmt.Printf("Left out: %d of %d mutants (%d have every tested clause once),\n", all-run, all, run)
	fmt.Println("a second foreign target of three protocols, those behind a proxy but for three,")
	fmt.Println("and the race detector in the tests of ./cli, of the mutants and below ./test,")
	fmt.Println("in the suite of pages, in packages of one protocol, and in those without goroutines.")
	fmt.Println("All of it: make test-all")
}
