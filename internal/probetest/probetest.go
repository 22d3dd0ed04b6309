// Package probetest helps the tests of what parley init finds out.
package probetest

import (
	"strings"
	"testing"

	"parley/steps"
	"parley/steps/probe"
	"parley/target"
)

// Profile returns the profile that a protocol's probe writes for a server, and the lines it prints meanwhile.
func Profile(t *testing.T, protocol steps.Protocol, url string) (*target.Profile, string) {
	t.Helper()
	var said strings.Builder
	text, err := probe.Profile(t.Context(), probe.Options{
		Protocol: protocol, URL: url, File: "odd.yaml", Say: func(line string) { said.WriteString(line + "\n") },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	p, err := target.Kinds{protocol.Kind()}.Parse([]byte(text), "odd.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p, said.String()
}
