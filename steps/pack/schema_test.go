package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"parley/internal/schematest"
	"parley/internal/script"
)

// TestSchema: the files of every folder in examples/packs are valid by the published schemas, and mistakes are not.
func TestSchema(t *testing.T) {
	protocols, clauses := schematest.Compile(t, ProtocolSchema()), schematest.Compile(t, ClausesSchema())
	mutants, scripts := schematest.Compile(t, MutantsSchema()), schematest.Compile(t, script.Schema())
	folders, _ := filepath.Glob("../../examples/packs/*/protocol.yaml")
	if len(folders) < 3 {
		t.Fatalf("folders: %q", folders)
	}
	for _, at := range append(folders, "template/protocol.yaml") {
		folder := filepath.Dir(at)
		for name, schema := range map[string]schematest.Schema{"protocol.yaml": protocols, "clauses.yaml": clauses,
			"mutants.yaml": mutants, "server.yaml": scripts} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if errors.Is(err, fs.ErrNotExist) && (name == "mutants.yaml" || name == "server.yaml") {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.YAML(text); err != nil {
				t.Errorf("%s/%s: %v", folder, name, err)
			}
		}
	}
	const head = "protocol: a\nsource: a.md\n"
	const row = head + "clauses:\n  - {id: AB-001, level: %s, section: '1', text: a, source: a, " +
		"observed: wire, status: %s}\n"
	const short = head + "defaults: {level: MUST, observed: wire, %s}\nclauses:\n" +
		"  - {id: AB-001, section: '1', text: a, source: a}\n"
	for text, schema := range map[string]schematest.Schema{
		fmt.Sprintf(protocol, "  - {on: ping, ows: pong, clauses: PP-001}"):            protocols,
		fmt.Sprintf(protocol, "  - {on: ping, owes: pong, within: ever}"):              protocols,
		fmt.Sprintf(protocol, "  - {owes: pong, clauses: PP-001}"):                     protocols,
		fmt.Sprintf(protocol, "  - {on: {form: client}, owes: pong, clauses: PP-001}"): protocols,
		"protocol: A\nprefix: PP\ntransports: {ws: {path: /ws}}\n":                     protocols,
		"protocol: a\nprefix: PP\ntransports: {ws: {paht: /ws}}\n":                     protocols,
		fmt.Sprintf(row, "MOST", "tested"):                                             clauses,
		fmt.Sprintf(row, "MUST", "excluded"):                                           clauses,
		fmt.Sprintf(row, "MUST", "later"):                                              clauses,
		fmt.Sprintf(short, "status: later"):                                            clauses,
		fmt.Sprintf(short, "state: tested"):                                            clauses,
		head + "clauses:\n  - {id: AB-001, section: '1', text: a, source: a}\n":        clauses,
		"- {id: a, clauses: [AB-001], why: a}":                                         mutants,
		"- {id: A, clauses: [AB-001], why: a, vars: {a: 1}}":                           mutants,
		"- {id: a, clauses: [], why: a, vars: {a: 1}}":                                 mutants,
		"- {id: a, clauses: [AB-001], why: a, var: {a: 1}}":                            mutants,
		"- {id: a, clauses: [AB-001], wy: a, vars: {a: 1}}":                            mutants,
		"- {id: a, clauses: [AB-001], why: a, fault: {on: a, do: dropp}}":              mutants,
	} {
		if schema.YAML([]byte(text)) == nil {
			t.Errorf("valid by the schema: %s", text)
		}
	}
	for text, schema := range map[string]schematest.Schema{
		fmt.Sprintf(protocol, "  - {on: ping, owes: pong, clauses: PP-001}"):               protocols,
		fmt.Sprintf(row, "MUST", "tested"):                                                 clauses,
		fmt.Sprintf(short, "status: tested"):                                               clauses,
		"- {id: a, clauses: [AB-001], why: a, fault: [{on: a, do: drop}], vars: {a: [1]}}": mutants,
	} {
		if err := schema.YAML([]byte(text)); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	}
}
