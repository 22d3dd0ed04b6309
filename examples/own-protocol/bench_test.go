package main

import (
	"testing"

	"example.org/tickets/desk"
	"example.org/tickets/server"
	"parley/features/verdict"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps"
	"parley/steps/pack"
)

// BenchmarkSuite runs the suite in Go, and the same protocol as a folder, against the same server over a WebSocket:
// what a scenario of a folder costs beside one in Go.
func BenchmarkSuite(b *testing.B) {
	folder, err := pack.Load("../packs/ticket-desk")
	if err != nil {
		b.Fatal(err)
	}
	for name, suite := range map[string]*steps.Protocols{"go": parts.Protocols,
		"folder": steps.NewProtocols("1.0.0", folder)} {
		b.Run(name, func(b *testing.B) {
			profile := parts.Targets.MutantProfile(suite.Kinds(), desk.ID, "")
			for b.Loop() {
				res, err := runner.Run(b.Context(), runner.Options{Protocols: suite, Drivers: []string{"ws"}, Profile: profile,
					Launcher: server.Target.Roles[0].InProcess(launch.Options{})})
				if err != nil || res.Exit != verdict.ExitIncomplete { // two clauses are about HTTP
					b.Fatal(err)
				}
			}
		})
	}
}
