// Command leftout prints what `make test` omits and which command runs it.
package main

import (
	"fmt"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/steps/protocols"
)

func main() {
	run, all, load := 0, 0, 0
	for _, protocol := range bundled.All.Protocols() {
		for _, role := range protocols.All.Roles(protocol) {
			mutants := bundled.All.Mutants(protocols.Kinds(), protocol, role)
			run += len(runner.Cover(mutants))
			all += len(mutants)
			load += len(bundled.All.LoadMutants(protocol, role))
		}
	}
	fmt.Printf("Left out: %d of %d mutants (%d have every tested clause once),\n", all-run, all, run)
	fmt.Printf("%d of %d mutants that only a load finds (two roles are put under one),\n", load-2, load)
	fmt.Println("all control scenarios of a mutant but one (of a page: all),")
	fmt.Println("most scenarios of foreign targets, and the second one of three protocols,")
	fmt.Println("nine of ten hostile peers in ./test/hostile, and of all the default limits and long floods,")
	fmt.Println("more than half of the targets in ./test/odd, and most in ./test/strangers,")
	fmt.Println("scripts with pages and whole suites, some tests of the console's page, staticcheck of tests,")
	fmt.Println("most scenarios behind a proxy, of recordings, of cut points and between two targets,")
	fmt.Println("whole programs for other systems, the browser of the image, and the README in a fresh clone,")
	fmt.Println("what NIGHT in the Makefile names,")
	fmt.Println("and the race detector but for the packages in CONCURRENT (make race: what runs their scenarios, too).")
	fmt.Println("All of it: make test-all")
}
