// Package parley judges servers and other programs that speak an agent-session protocol from Go: in tests with one
// subtest per scenario, or as a function call.
//
//	func TestConformance(t *testing.T) {
//		parley.Test(t, parley.Handler(newServer()), parley.Protocol("agent-select"))
//	}
//
// A target is a profile, the URL of a running server, or a server in this process:
//
//   - [Profile] reads the file that describes the target, how it is started or reached, and what it declares.
//   - [URL] is a running server that follows the default binding of its protocol.
//   - [Handler], [HandlerWithModel] and [Serve] are servers in this process, on a free loopback port.
//
// [Test] runs the suite of the target's protocol. Each scenario is a subtest with the scenario's id as its name:
//
//	go test -run 'TestConformance/AS-4.1-06' -v
//
// [Run] does the same outside of tests, and [Open] lends the steps of a protocol to a godog suite of yours.
//
// # What is stable
//
// The exported names of this package are stable: within a major version they keep their meaning, and names are only
// added; test/testdata/api.txt lists them. So are the command line, results.json ([Result.WriteJSON]), the keys of a
// profile, and the ids of clauses. Ids of scenarios are stable for one digest of the suite: a scenario that is added to
// a feature file may change the ids after it.
//
// All other packages of this module are unstable, although they can be imported: they change with the suite. The texts
// of steps, findings and reports may change, too.
package parley
