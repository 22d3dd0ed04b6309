package pack

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHoles: a hole that nothing fills is told with its place; one that a step keeps, or another client, is none.
func TestHoles(t *testing.T) {
	feature := "@ping-pong\nFeature: a\n  # ${commented}\n  Scenario: a\n    When client A keeps it.n as \"last\"\n" +
		"    And client B sends \"ping\" with {\"n\": \"${A.last} ${new} ${nonce}\"}\n"
	const rule = "  - {on: hello, first: true, clauses: PP-001}\n"
	for _, c := range []struct{ protocol, feature, want string }{
		{"# ${commented}", feature, ""},
		{"", strings.Replace(feature, "${A.last}", "${A.lst}", 1),
			"pp/1.feature:6: nothing fills ${A.lst}: no client keeps it (did you mean \"last\"?)"},
		{"load: [ping]\nphrases: [{'client {c} waits': ['client {c} sends \"ping\" with {\"n\": \"${timerr}\"}']}]", "",
			"nothing fills ${timerr}: no client keeps it (keeps: [{on: TYPE, timerr: it.timerr}]; there are "},
	} {
		_, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: fmt.Appendf(nil, protocol, rule+c.protocol)},
			"clauses.yaml": {Data: []byte(ledger)}, "1.feature": {Data: []byte(c.feature)}}, "pp")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.protocol, err, c.want)
		}
	}
}
