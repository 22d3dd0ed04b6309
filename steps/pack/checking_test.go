package pack

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMistakenSteps: what is wrong in phrases, scenarios and clauses is told at its line before anything runs, all at
// once.
func TestMistakenSteps(t *testing.T) {
	doc := fmt.Sprintf(protocol, "  - {on: ping, owes: pong, clauses: PP-001}") // its rule is in line 12
	for _, r := range []struct {
		phrases, feature string
		want             []string
	}{
		{"  - client {c} greets: [\"client {c} sends 'ping'\"]\n", "", []string{"pp/protocol.yaml:15: there is no step: " +
			"client {c} sends 'ping' (did you mean: client X sends the text …)"}},
		{"  - client {c} loops:\n    - client {c} loops\n", "", []string{
			`pp/protocol.yaml:15: the phrase "client {c} loops" contains itself`}},
		{"  - client {c} a:\n    - client {c} b\n  - client {c} b:\n    - client {c} a\n", "", []string{"contains itself"}},
		{"  - client {c} connects:\n    - client {c} is connected\n", "", []string{"is a step already: client X connects"}},
		{doubling(), "", []string{"has more than 1000 steps"}},
		{"", "    When client A hops", []string{
			"pp/1.feature:3: there is no step: client A hops (did you mean: client X "}},
		{"", "    When client A sends \"pings\"\n    Then client A receives \"pongs\"", []string{
			`pp/1.feature:3: clients send no "pings" (did you mean "ping"?)`,
			`pp/1.feature:4: servers send no "pongs" (did you mean "pong"?)`}},
		{"", `    Then client A receives "pong" where it.n ===`, []string{
			`pp/1.feature:3: "it.n ===" is not an expression`}},
		{"", "    When client A connects\n  @PP-099 @PP-001 @PP-1-01\n  Scenario: b", []string{
			"pp/1.feature:4: no clause of clauses.yaml has the id PP-099"}},
		{"", "    When client A connects\n  Scenarioo: b", []string{
			`pp/1.feature:4:3: it is not Gherkin: no line such as "Scenarioo: b" belongs here`}},
		{"", "    When client A <does>\n    Examples:\n      | does |\n      | connects |\n      | hops |", []string{
			"pp/1.feature:3: there is no step: client A hops"}},
	} {
		text := doc + "\nphrases:\n" + r.phrases
		if r.phrases == "" {
			text = doc
		}
		_, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(text)}, "clauses.yaml": {Data: []byte(ledger)},
			"1.feature": {Data: []byte("Feature: a\n  Scenario Outline: a\n" + r.feature + "\n")}}, "pp")
		for _, want := range r.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s%s: %v, want %s", r.phrases, r.feature, err, want)
			}
		}
	}
}

// doubling writes phrases of which each is the next one, twice.
func doubling() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "  - p%d:\n    - p%d\n    - p%[2]d\n", i, i+1)
	}
	return b.String() + "  - p40:\n    - client A connects\n"
}

// TestMistakenClauses: the mistakes in clauses.yaml are told at their lines, beside those in protocol.yaml.
func TestMistakenClauses(t *testing.T) {
	text := strings.NewReplacer("level: MUST, section: \"1\", text: two", "level: HAVE, section: \"1\", text: two",
		"PP-003", "PP-001").Replace(ledger)
	_, err := LoadFS(fstest.MapFS{"clauses.yaml": {Data: []byte(text)},
		"protocol.yaml": {Data: fmt.Appendf(nil, protocol, "  - {on: ping, ows: pong, clauses: PP-001}")}}, "pp")
	for _, want := range []string{`pp/clauses.yaml:6: PP-002: unknown level "HAVE"`,
		"pp/clauses.yaml:7: PP-001 is listed twice, first in line 5", `a rule has no "ows"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for name, text := range map[string]string{"clauses.yaml": "a: " + strings.Repeat("[", 100_000),
		"clauses.zh.yaml": "PP-001: " + strings.Repeat("{", 100_000)} {
		files := fstest.MapFS{"clauses.yaml": {Data: []byte(ledger)},
			"protocol.yaml": {Data: fmt.Appendf(nil, protocol, "  - {on: ping, owes: pong, clauses: PP-001}")}}
		files[name] = &fstest.MapFile{Data: []byte(text)}
		if _, err := LoadFS(files, "pp"); err == nil || !strings.Contains(err.Error(),
			"pp/"+name+":1: it is nested deeper than 64 levels") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLedgerOfAnother: a ledger of another protocol is told at the line that names it.
func TestLedgerOfAnother(t *testing.T) {
	_, err := LoadFS(fstest.MapFS{"clauses.yaml": {Data: []byte("# clauses\n" +
		strings.Replace(ledger, "protocol: ping-pong", "protocol: qq", 1))},
		"protocol.yaml": {Data: fmt.Appendf(nil, protocol, "  - {on: ping, owes: pong, clauses: PP-001}")}}, "pp")
	const want = "pp/clauses.yaml:3: these are the clauses of qq, and protocol.yaml is that of ping-pong " +
		"(protocol: ping-pong)"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestNoFile: what is no file is told, and not waited for.
func TestNoFile(t *testing.T) {
	files := waitingFS{t, fstest.MapFS{"clauses.yaml": {Data: []byte(ledger)}, "1.feature": {Mode: fs.ModeNamedPipe},
		"protocol.yaml": {Data: fmt.Appendf(nil, protocol, "  - {on: ping, ows: pong, clauses: PP-001}")}}}
	_, err := LoadFS(files, "pp")
	for _, want := range []string{"pp: 1.feature is no file", `a rule has no "ows"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// waitingFS is a file system in which opening a pipe would wait for ever.
type waitingFS struct {
	t *testing.T
	fstest.MapFS
}

func (w waitingFS) Open(name string) (fs.File, error) {
	if path.Ext(name) == ".feature" {
		w.t.Errorf("%s was opened", name)
	}
	return w.MapFS.Open(name)
}
