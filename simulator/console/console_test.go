package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/transport/recording"
)

// TestRoutes: each operation of the API is in openapi.yaml, with its query, and each of openapi.yaml in the API.
func TestRoutes(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a console without Open is made")
	}
	var served, written []string
	for _, r := range (&Console{}).listRoutes() {
		served = append(served, strings.TrimSpace(r.method+" "+r.path+" "+strings.Join(r.query, " ")))
	}
	for path, item := range member(document(), "paths").(map[string]any) {
		for _, method := range []string{"get", "put", "post", "delete", "patch"} {
			if member(item, method) != nil {
				written = append(written, strings.TrimSpace(strings.ToUpper(method)+" "+path+" "+
					strings.Join(queryOf(member(item, method)), " ")))
			}
		}
	}
	slices.Sort(served)
	slices.Sort(written)
	if !slices.Equal(served, written) {
		t.Errorf("served:\n%s\nwritten in openapi.yaml:\n%s", strings.Join(served, "\n"), strings.Join(written, "\n"))
	}
	for name, schema := range member(document(), "components", "schemas").(map[string]any) {
		if err := valid(schema, []byte(`{}`)); err != nil && strings.Contains(err.Error(), "metaschema") {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

// queryOf lists the members of the query of an operation in openapi.yaml.
func queryOf(operation any) (names []string) {
	all, _ := member(operation, "parameters").([]any)
	for _, p := range all {
		if ref, is := member(p, "$ref").(string); is {
			p = member(document(), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		if member(p, "in") == "query" {
			names = append(names, member(p, "name").(string))
		}
	}
	return names
}

// TestTest: a session with a target, from its beginning to its end.
func TestTest(t *testing.T) {
	c, _ := serve(t)
	if got := do[string](c, 200, "GET", "/openapi.yaml", nil); got != string(openAPI) {
		t.Error("openapi.yaml is not served as it is")
	}
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select", "driver": "ws"})
	at := "/sessions/" + s.ID
	if s.Driver != "ws" || s.Protocol != "agent-select" || s.State != "open" || s.URL == "" {
		t.Errorf("begun: %+v", s)
	}
	step := func(text string) Judged {
		t.Helper()
		return do[Judged](c, 200, "POST", at+"/steps", m{"text": text})
	}
	step("Given client A is connected")
	step("client A has a session")
	step(`client A switches to "debugger"`)
	good := step(`client A is switched from "general" to "debugger"`)
	if !slices.ContainsFunc(good.Outcomes, func(o Outcome) bool {
		return o.Clause == "AS-042" && o.Outcome == verdict.Passed
	}) || good.Status != "passed" || good.To <= good.From-1 {
		t.Errorf("judged: %+v", good)
	}
	step(`client A switches to "nobody"`)
	bad := step(`client A is switched to "plan"`)
	if bad.Status != "failed" || len(bad.Failures) == 0 || bad.Failures[0].Expected == "" {
		t.Errorf("judged: %+v", bad)
	}
	all := do[[]Record](c, 200, "GET", at+"/records", nil)
	if n := bad.Failures[0].At; n > 0 && !slices.Contains(all[n-1].Clauses, bad.Failures[0].Clause) {
		t.Errorf("record %d does not have the clause that it breaks: %+v", n, all[n-1])
	}
	if part := do[[]Record](c, 200, "GET", at+"/records?after=2&limit=3", nil); len(part) != 3 || part[0].N != 3 {
		t.Errorf("records after 2: %+v", part)
	}
	s = do[Session](c, 200, "GET", at, nil)
	if !slices.Equal(s.Parties, []string{"A"}) || len(s.Steps) != 6 || s.Records < len(all) {
		t.Errorf("then: %+v", s)
	}
	outcomes := do[[]Outcome](c, 200, "GET", at+"/outcomes", nil)
	if !slices.Contains(outcomes, Outcome{Clause: "AS-041", Outcome: verdict.Failed}) {
		t.Errorf("outcomes: %v", outcomes)
	}
	if last := do[m](c, 200, "POST", at+"/undo", nil)["text"]; last != `client A is switched to "plan"` {
		t.Errorf("undone: %v", last)
	}
	feature := do[string](c, 200, "GET", at+"/scenario?name=my%20own", nil)
	if !strings.Contains(feature, "Scenario: my own\n") || !strings.Contains(feature, `switches to "nobody"`) {
		t.Errorf("scenario:\n%s", feature)
	}
	rec, err := recording.Read(strings.NewReader(do[string](c, 200, "GET", at+"/recording", nil)))
	if err != nil || len(rec.Records) < len(all) || rec.Header.Protocol != "agent-select" {
		t.Errorf("recording: %v, %d records, %+v", err, len(rec.Records), rec.Header)
	}
	do[string](c, 204, "DELETE", at, nil)
	c.wantRefusal(404, "GET", at, nil, "there is no session")
	if left := do[[]Session](c, 200, "GET", "/sessions", nil); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWords: steps are found, and lines completed.
func TestWords(t *testing.T) {
	c, _ := serve(t)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select"}).ID
	found := do[map[string][]string](c, 200, "GET", at+"/search?q=switches&n=2", nil)["steps"]
	if len(found) != 2 || !strings.Contains(found[0], "switches") {
		t.Errorf("found: %q", found)
	}
	all := do[map[string][]string](c, 200, "GET", at+"/search", nil)["steps"]
	if len(all) < 20 {
		t.Errorf("%d steps in all", len(all))
	}
	longer := do[m](c, 200, "GET", at+"/complete?line=client+A+swi", nil)
	if longer["longer"] != "client A switches " || len(longer["all"].([]any)) < 2 {
		t.Errorf("completed: %v", longer)
	}
	if none := do[m](c, 200, "GET", at+"/complete?line=.save", nil); none["longer"] != ".save" {
		t.Errorf("a command of the terminal is completed: %v", none)
	}
}

// TestMistakes: each mistake is refused with one clear line, and the session continues.
func TestMistakes(t *testing.T) {
	c, _ := serve(t)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select"}).ID
	for _, row := range []struct {
		reason       string
		status       int
		method, path string
		body         any
		want         string
	}{
		{"no such kind", 400, "POST", "/sessions", m{"kind": "x"}, `"x" is not a kind of session (test, play or replay)`},
		{"no such protocol", 400, "POST", "/sessions", m{"kind": "test", "protocol": "x"}, `protocol: unknown protocol "x"`},
		{"no such member", 400, "POST", "/sessions", m{"kin": "test"}, "unknown member kin (see"},
		{"the wrong type", 400, "POST", at + "/steps", m{"text": 7}, "text must be a string, not a number"},
		{"no object", 400, "POST", at + "/steps", []string{}, "send one JSON object, not an array"},
		{"no such step", 400, "POST", at + "/steps", m{"text": "client A flies"}, `no step matches "client A flies"`},
		{"a text for a step without one", 400, "POST", at + "/steps", m{"text": "client A is connected", "doc": "x"},
			"the step takes nothing below it"},
		{"a table with rows of two lengths", 400, "POST", at + "/steps", m{"text": "x", "table": [][]string{{"a"}, {}}},
			"different lengths"},
		{"nobody is connected", 409, "POST", at + "/raw", m{"party": "Z", "text": "POST /message {}"}, "Z is not connected"},
		{"neither text nor bytes", 400, "POST", at + "/raw", m{"party": "Z"}, "one of them"},
		{"both", 400, "POST", at + "/raw", m{"party": "Z", "text": "", "base64": ""}, "one of them"},
		{"invalid bytes", 400, "POST", at + "/raw", m{"party": "Z", "base64": "%"}, "base64: illegal"},
		{"nobody to hang up", 409, "POST", at + "/hang", m{"party": "Z"}, "Z is not connected"},
		{"no such end", 400, "POST", at + "/hang", m{"party": "A", "how": "x"}, "close or cut"},
		{"no number", 400, "GET", at + "/records?after=x", nil, "?after= is a number"},
		{"a mistyped member of the query", 400, "GET", at + "/records?limt=3", nil, `did you mean "limit"?`},
		{"a query where there is none", 400, "GET", at + "/held?limit=3", nil, "which has none"},
		{"a query that is not encoded", 400, "GET", at + "/records?after=%zz", nil, "the query is not encoded"},
		{"too many", 400, "GET", at + "/records?limit=10001", nil, "from 0 to 10000"},
		{"no duration", 400, "POST", at + "/wait", m{"within": "x"}, "is not a duration"},
		{"too long", 400, "POST", at + "/wait", m{"within": "11m"}, "is not a duration up to"},
		{"no direction", 400, "POST", at + "/wait", m{"dir": "x"}, "is not a direction"},
		{"nothing to undo", 409, "POST", at + "/undo", nil, "nothing is left"},
		{"nothing is held in a test", 409, "GET", at + "/held", nil, "is a test, and this is for a play"},
		{"a test has no mind", 409, "PUT", at + "/mind", m{"mind": "ask"}, "is a test"},
		{"no plays here", 409, "POST", "/sessions", m{"kind": "play"}, "plays no parties"},
		{"no runs here", 409, "POST", at + "/run", nil, "cannot run the suite"},
		{"no such session", 404, "GET", "/sessions/x/records", nil, `there is no session "x"`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			(&client{t, c.url, c.http}).wantRefusal(row.status, row.method, row.path, row.body, row.want)
		})
	}
	similar := c.wantRefusal(400, "POST", at+"/steps", m{"text": "client A switches over"}, "search finds").Similar
	if !slices.ContainsFunc(similar, func(s string) bool { return strings.Contains(s, "switches to") }) {
		t.Errorf("similar: %q", similar)
	}
	if got := do[Judged](c, 200, "POST", at+"/steps", m{"text": "client A is connected"}); got.Status != "passed" {
		t.Errorf("then: %+v", got)
	}
}

// TestWait: a record that is already there or comes later is found; if it never comes, the wait ends with the records
// that came instead.
func TestWait(t *testing.T) {
	c, _ := serve(t)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select", "driver": "ws"})
	at := "/sessions/" + s.ID
	do[Judged](c, 200, "POST", at+"/steps", m{"text": "client A is connected"})
	later := make(chan Record)
	go func() {
		later <- do[Record](c, 200, "POST", at+"/wait", m{"type": "agent_switched", "party": "A", "within": "1m"})
	}()
	for _, text := range []string{"client A has a session", `client A switches to "debugger"`} {
		do[Judged](c, 200, "POST", at+"/steps", m{"text": text})
	}
	found := <-later
	if found.Type != "agent_switched" || found.Dir != "received" {
		t.Errorf("found: %+v", found)
	}
	if again := do[Record](c, 200, "POST", at+"/wait", m{"type": "agent_switched"}); again.N != found.N {
		t.Errorf("found again: %+v", again)
	}
	sent := do[Record](c, 200, "POST", at+"/wait", m{"dir": "sent", "text": "debugger"})
	if sent.Dir != "sent" || sent.N >= found.N {
		t.Errorf("sent: %+v", sent)
	}
	e := c.wantRefusal(408, "POST", at+"/wait", m{"type": "never", "within": "1ms"}, "no such record came within 1ms")
	if len(e.Instead) == 0 {
		t.Error("nothing came instead")
	}
	n := do[map[string]int](c, 200, "POST", at+"/raw", m{"party": "A", "text": "no JSON"})["n"]
	if answer := do[Record](c, 200, "POST", at+"/wait", m{"after": n, "within": "1m"}); answer.Type == "" {
		t.Errorf("answered: %+v", answer)
	}
	if s := do[Session](c, 200, "POST", at+"/hang", m{"party": "A", "how": "cut"}); s.State != "open" {
		t.Errorf("then: %+v", s)
	}
	do[Record](c, 200, "POST", at+"/wait", m{"after": n, "dir": "", "text": "closed", "within": "1m"})
}

// TestLists: the offers of Options are listed, and empty lists are not null.
func TestLists(t *testing.T) {
	c, _ := serve(t)
	lists := []string{"/protocols", "/clauses", "/mutants", "/scripts", "/schemas", "/sessions"}
	for _, path := range lists {
		if got := do[string](c, 200, "GET", path, nil); got != "[]\n" {
			t.Errorf("%s: %s", path, got)
		}
	}
	c, _ = serve(t, func(o *Options) {
		o.Protocols = func() []Protocol {
			return []Protocol{{ID: "p", Roles: []string{"r"},
				As: []string{"server"}, Drivers: []string{"ws"}}}
		}
		o.Clauses = func(string) ([]Clause, error) { return []Clause{{"AS-001", "MUST", "1", "a", "b", "tested", ""}}, nil }
		o.Mutants = func(p, r, q string) ([]Mutant, error) { return []Mutant{{p, r, q, []string{"AS-001"}}}, nil }
		o.Scripts = func(p string) ([]Script, error) { return []Script{{"a", p, "server", "b", "c"}}, nil }
		o.Schemas = func(p string) ([]Schema, error) {
			return []Schema{{Type: p, From: "server", Schema: maps.Clone(m{"type": "object"})}}, nil
		}
	})
	for path, want := range map[string]string{"/protocols": `"id":"p"`, "/clauses?protocol=p": `"id":"AS-001"`,
		"/mutants?protocol=p&role=r&q=w+w": `{"id":"p","role":"r","why":"w w"`, "/scripts?protocol=p": `"protocol":"p"`,
		"/schemas?protocol=p": `"type":"p"`} {
		if got := do[string](c, 200, "GET", path, nil); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestTypes: requests have the types of their messages, and raw requests have no type that could be confused with
// these.
func TestTypes(t *testing.T) {
	c, _ := serve(t)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select", "driver": "sse"})
	at := "/sessions/" + s.ID
	do[Judged](c, 200, "POST", at+"/steps", m{"text": "client A is connected"})
	do[Judged](c, 200, "POST", at+"/steps", m{"text": "client A has a session"})
	named := do[Record](c, 200, "POST", at+"/wait", m{"type": "session_create", "dir": "sent"})
	n := do[map[string]int](c, 200, "POST", at+"/raw", m{"party": "A", "text": "POST /session/create {}"})["n"]
	raw := do[[]Record](c, 200, "GET", fmt.Sprintf("%s/records?after=%d&limit=1", at, n-1), nil)
	if named.Kind != "request" || len(raw) != 1 || raw[0].Kind != "request" || raw[0].Type != "" {
		t.Errorf("named: %+v, raw: %+v", named, raw)
	}
}
