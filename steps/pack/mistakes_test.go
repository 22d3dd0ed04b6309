package pack

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// draftedFolder is the folder that `parley new my-protocol` writes, with a JSON Schema of pong.
func draftedFolder(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := Draft("my-protocol")
	if err != nil {
		t.Fatal(err)
	}
	files["messages/pong.json"] = []byte("{\n  \"type\": \"object\",\n  \"required\": [\"n\"],\n  \"properties\": {\n" +
		"    \"n\": {\"type\": \"string\", \"minLength\": 1}\n  }\n}\n")
	return files
}

// mistakesOf are the lines of what is told of a folder, "" in which the name of the folder is left out.
func mistakesOf(t *testing.T, files map[string][]byte) []string {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: text}
	}
	_, err := LoadFS(fsys, "f")
	if err == nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(err.Error(), "f/", ""), "\n")
}

// TestFirstCause: one mistake is told once, at its place, and nothing that only follows from it.
func TestFirstCause(t *testing.T) {
	const unchecked = "protocol.yaml: not checked in the folder until it is mended: "
	for _, c := range []struct {
		file, old, new string
		want           []string
	}{
		{"protocol.yaml", "[hello, pong,", "[hello, pnog,", []string{`protocol.yaml:15:19: nothing names "pnog", and ` +
			`"pong" is not listed, which is named at protocol.yaml:26:29, protocol.yaml:35:29, messages/pong.json (did you ` +
			`mean "pong"?)`}},
		{"protocol.yaml", "  ping: {n", "  pnig: {n", []string{`protocol.yaml:11:3: nothing names "pnig", and "ping" ` +
			`is not listed, which is named at protocol.yaml:26:15, protocol.yaml:35:10, 1_first.feature:7 (did you mean ` +
			`"ping"?)`}},
		{"protocol.yaml", "on: joined, room", "on: joind, room", []string{
			`protocol.yaml:18:10: "joind" is not a type of this protocol (did you mean "join"?)`}},
		{"protocol.yaml", "receives:", "recieves:", []string{
			`protocol.yaml:15:1: a protocol has no "recieves" (did you mean "receives"?)`}},
		{"protocol.yaml", "sends:", "sned:", []string{`protocol.yaml:10:1: a protocol has no "sned" (it has `,
			unchecked + "types of messages"}},
		{"protocol.yaml", "[hello, pong, joined, said, refused]", "hello pong joined", []string{
			"protocol.yaml:15:11: several types are a list (receives: [hello, pong, joined])", unchecked + "types of messages"}},
		{"protocol.yaml", "  room: {key", "  rom: {key", []string{`protocol.yaml:29:3: nothing names "rom", and "room" is ` +
			`not listed, which is named at protocol.yaml:38:36, protocol.yaml:39:21, protocol.yaml:40:21`}},
		{"protocol.yaml", `owner: ""`, `ownr: ""`, []string{`protocol.yaml:38:36: the state room has no "owner" (did you ` +
			`mean "ownr"?); also at protocol.yaml:39:21, protocol.yaml:40:21`}},
		{"protocol.yaml", `room: {key: it.room, owner: ""}`, "room: it.room", []string{
			"protocol.yaml:29:9: the state room is a map, and this is a single value", unchecked + "members of states"}},
		{"protocol.yaml", "is in a room:", "is in room:", []string{"1_first.feature:11: there is no step: client A is in a " +
			"room (did you mean: client X is in room); also at 1_first.feature:16, 1_first.feature:21"}},
		{"protocol.yaml", "clauses: MP-001", "clause: MP-001", []string{
			`protocol.yaml:32:39: a rule has no "clause" (did you mean "clauses"?)`}},
		{"protocol.yaml", "first: true", "frist: true", []string{
			`protocol.yaml:33:17: a rule has no "frist" (did you mean "first"?)`}},
		{"protocol.yaml", "protocol: my-protocol", "protocl: my-protocol", []string{
			`protocol.yaml:3:1: a protocol has no "protocl" (did you mean "protocol"?)`}},
		{"protocol.yaml", "protocol: my-protocol", "protocol: My_P", []string{`protocol.yaml:3:11: protocol "My_P" is not ` +
			"made of", unchecked + "whose clauses and script these are"}},
		{"clauses.yaml", "id: MP-003", "id: MP-033", []string{`clauses.yaml:9: nothing names "MP-033", and "MP-003" is not ` +
			`listed, which is named at protocol.yaml:35, 1_first.feature:4 (did you mean "MP-003"?)`}},
		{"clauses.yaml", "id: MP-003", "id: XX-003", []string{
			"clauses.yaml:9: XX-003 does not begin with MP, the prefix in protocol.yaml (MP-003)"}},
		{"clauses.yaml", "level: MUST", "level: MUS", []string{`clauses.yaml:5: defaults: unknown level "MUS" (there are `,
			"clauses.yaml: not checked in the folder until it is mended: ids of clauses"}},
	} {
		files := draftedFolder(t)
		files[c.file] = bytes.Replace(files[c.file], []byte(c.old), []byte(c.new), 1)
		got := mistakesOf(t, files)
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %s\n%s\nwant %s", c.file, c.new, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestAllFiles: with a mistake in protocol.yaml those in the other files that do not depend on it are told too, and
// what could not be checked.
func TestAllFiles(t *testing.T) {
	for _, protocol := range []string{"sends: [", "protocol: my-protocol\n"} {
		files := draftedFolder(t)
		files["protocol.yaml"] = []byte(protocol)
		replace := func(file, old, with string) {
			files[file] = bytes.Replace(files[file], []byte(old), []byte(with), 1)
		}
		replace("clauses.yaml", "id: MP-003", "id: MP003")
		replace("1_first.feature", "Scenario: a client", "Scenario a client")
		files["2_more.feature"] = []byte("@my-protocol\nFeature: more\n  @preflight-4\n  Scenario: a\n" +
			"    When client A sends \"ping\" with {\"n\": }\n  Scenario: none\n")
		replace("messages/pong.json", `"object"`, `"objekt"`)
		got := strings.Join(mistakesOf(t, files), "\n")
		for _, want := range []string{"protocol.yaml:1:", "clauses.yaml:9: MP003: malformed id",
			"1_first.feature:10:3: it is not Gherkin", "2_more.feature:3: there is no stage 4 of preflight",
			`2_more.feature:5: {"n": } is not a JSON object`, `2_more.feature:6: the scenario "none" has no steps`,
			`messages/pong.json:2:3: its type is "objekt"`, "protocol.yaml: not checked in the folder until it is mended: ",
			"clauses.yaml: not checked in the folder until it is mended: ids of clauses"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
		if strings.Contains(got, "there is no step") || strings.Contains(got, "no message has the type") {
			t.Errorf("what depends on protocol.yaml is told:\n%s", got)
		}
	}
}

// TestMistakesInPlace: further mistakes in each file are told at their lines, and alone.
func TestMistakesInPlace(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"protocol.yaml", "document: my-protocol.md", "document: ../..", `protocol.yaml:5:11: document "../.." is outside`},
		{"protocol.yaml", "document: my-protocol.md", "document: [a]", "protocol.yaml:5:11: document is a text"},
		{"protocol.yaml", "first: true", "first: yes", "protocol.yaml:33:24: first is true or false"},
		{"protocol.yaml", "set: {room.owner: conn}", "set: room.owner", "protocol.yaml:38:23: set is a map"},
		{"protocol.yaml", "{send: ping,", "{send: pong,", `protocol.yaml:26:15: fence.send: servers send "pong"`},
		{"protocol.yaml", "answer: pong,", "answer: ping,", `protocol.yaml:26:29: fence.answer: clients send "ping"`},
		{"protocol.yaml", "prefix: MP", "prefix: MP\nload: [pong]", `protocol.yaml:5:7: load: clients send no "pong"`},
		{"protocol.yaml", "prefix: MP", "prefix: MP\nbegins: client {c} is conected", "protocol.yaml:5: there is no step"},
		{"protocol.yaml", "prefix: MP", "prefix: XX", "clauses.yaml:7: MP-001 does not begin with XX, the prefix in " +
			"protocol.yaml (XX-001); also at clauses.yaml:8, clauses.yaml:9, clauses.yaml:10 and 3 more"},
		{"protocol.yaml", `answer to "join"`, `answer to "jion"`, `protocol.yaml:45: clients send no "jion"`},
		{"protocol.yaml", "it.n == act.n, ", "it.n == cat.n, ", ""},
		{"1_first.feature", "@my-protocol\n", "", "1_first.feature:1: the feature lacks the tag of its protocol"},
		{"1_first.feature", "@my-protocol\n", "@other\n", "1_first.feature:2: the feature lacks the tag of its protocol"},
		{"1_first.feature", "@preflight-2", "@prefligth-2", "1_first.feature:9: @prefligth-2 is not a stage of preflight " +
			"(did you mean @preflight-2?)"},
		{"1_first.feature", "@preflight-2 ", "", ""},
		{"1_first.feature", `{"room"`, `{room`, `1_first.feature:23: {room: "${A.room}"} is not a JSON object`},
		{"1_first.feature", `When client A gets an answer to "ping"`, `When client A keeps itt.n as "n"`,
			`1_first.feature:7: "itt.n" is not an expression: unknown name itt (1:1) (did you mean "it"?)`},
		{"1_first.feature", "${A.room}", "${C.room}", "1_first.feature:23: nothing fills ${C.room}: the scenario has no " +
			"client C"},
		{"1_first.feature", `answer to "ping"`, `answer to "ping" with`, "1_first.feature:7: the step needs a table"},
		{"1_first.feature", `answer to "ping"`, "answer to \"ping\"\n      | n | 1 |", "1_first.feature:7: the step has no " +
			"table or text below it"},
		{"clauses.yaml", "{id: MP-007,", "{id: MP-007, status: excluded, reason: so,", "protocol.yaml:40: MP-007 is " +
			"excluded in clauses.yaml, and this rule judges it"},
		{"clauses.yaml", "id: MP-003", "id: MP-002", ""},
		{"messages/pong.json", `"type": "string"`, `"type": "text"`, `messages/pong.json:5:11: /properties/n/type: "text"`},
		{"messages/pong.json", `"minLength": 1`, `"minLength": "1"`, "messages/pong.json:5:29: /properties/n/minLength: "},
		{"messages/pong.json", `"minLength": 1`, `"minLenght": 1`, "messages/pong.json:5:29: /properties/n/minLenght: JSON " +
			"Schema has no minLenght (did you mean minLength?)"},
		{"messages/pong.json", `"minLength": 1`, `"$ref": "a.json"`, `messages/pong.json:5:29: $ref "a.json": it refers`},
		{"messages/pong.json", `"minLength": 1`, `"$ref": "#/$defs/a"`, "messages/pong.json:5:29: /properties/n/$ref: the " +
			"reference #/$defs/a leads nowhere"},
		{"messages/pong.json", `["n"]`, `"n"`, `messages/pong.json:3:3: /required: "n" is not a list of names`},
		{"messages/pong.json", `"type": "object"`, `"typ": "object"`, "messages/pong.json:2:3: JSON Schema has no typ"},
		{"messages/pong.json", `"required"`, `"type": "object", "required"`, "messages/pong.json:3:3: type is there twice"},
		{"messages/pong.json", `"required"`, `"additionalProperties": "no", "required"`,
			"messages/pong.json:3:3: /additionalProperties"},
		{"messages/pong.txt", "", "a", "messages/pong.txt: it is not read: a JSON Schema is messages/TYPE.json"},
		{"server.yml", "", "a", "server.yml: it is not read (did you mean server.yaml?)"},
	} {
		files := draftedFolder(t)
		if c.old == "" {
			files[c.file] = []byte(c.new)
		}
		files[c.file] = bytes.Replace(files[c.file], []byte(c.old), []byte(c.new), 1)
		got := mistakesOf(t, files)
		switch {
		case c.want == "" && strings.HasPrefix(c.new, "id"):
			c.want = "clauses.yaml:9: MP-002 is listed twice, first in line 8"
			got = got[:1]
		case c.want == "":
			if len(got) > 0 {
				t.Errorf("%s: %s is told: %s", c.file, c.new, got)
			}
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %s\n%s\nwant %s", c.file, c.new, strings.Join(got, "\n"), c.want)
		}
	}
}

// TestFoldersProfiles: a profile of the folder names a protocol that there is.
func TestFoldersProfiles(t *testing.T) {
	dir := t.TempDir()
	files := draftedFolder(t)
	maps.Copy(files, map[string][]byte{"profiles/a.yaml": []byte("name: a\nprotocol: my-protcol\n"),
		"profiles/b.yaml": []byte("protocol: my-protocol\n"), "profiles/c.yaml": []byte("protocol: other\n")})
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := checkProfiles(dir, []string{"other", "my-protocol"})
	want := filepath.Join(dir, "profiles/a.yaml") + `:2:11: the protocol "my-protcol" is not known (did you mean ` +
		`"my-protocol"?)`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
