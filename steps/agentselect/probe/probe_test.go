package probe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/steps/agentselect/binding"
	"parley/steps/probe"
	"parley/target"
	wjson "parley/transport/wire/json"
)

var kinds = target.Kinds{binding.Kind()}

// decoded decodes JSON as the probe does.
func decoded(t *testing.T, text string) any {
	t.Helper()
	v, _, err := wjson.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReadGreeting(t *testing.T) {
	std := binding.Default()
	const list = `[{"id":"general","name":"General","description":"all"},` +
		`{"id":"poet","name":"Poet","description":"verse"}]`
	for _, tt := range []struct {
		name   string
		events [][2]string // event: field, data
		want   func(*binding.Binding)
		listed bool
	}{
		{"the default binding", [][2]string{
			{"", `{"type":"connected","data":{"connectionId":"c1"}}`},
			{"", `{"type":"agent_list","data":{"agents":` + list + `,"currentAgentId":null}}`},
		}, func(*binding.Binding) {}, true},
		{"an event: field beside it", [][2]string{
			{"connected", `{"type":"connected","data":{"connectionId":"c1"}}`},
			{"agent_list", `{"type":"agent_list","data":{"agents":` + list + `}}`},
		}, func(*binding.Binding) {}, true},
		{"types in the event: field", [][2]string{
			{"connected", `{"connectionId":"c1"}`},
			{"agent_list", `{"agents":` + list + `}`},
		}, func(a *binding.Binding) { a.Envelope.SSEEvent, a.Envelope.Type, a.Envelope.Data = true, "", "" }, true},
		{"flat objects, written with underscores", [][2]string{
			{"", `{"event":"hello","connection_id":"c1"}`},
			{"", `{"event":"agents","agent_list":[{"agent_id":"general","title":"General"}],"current_agent_id":"general"}`},
		}, func(a *binding.Binding) {
			a.Envelope.Type, a.Envelope.Data = "/event", ""
			f := &a.Fields.Event
			f.ConnectionID, f.Agents, f.CurrentAgentID = "/connection_id", "/agent_list", "/current_agent_id"
			a.Fields.Agent.ID, a.Fields.Agent.Name = "/agent_id", "/title"
			a.Events = map[string]string{"connected": "hello", "agent_list": "agents"}
		}, true},
		{"another protocol", [][2]string{
			{"", `{"type":"tick","data":{"n":1}}`}, {"", `[1,2]`}, {"", `"x"`}, {"", `{"items":[{"a":1}]}`}},
			func(*binding.Binding) {}, false},
		{"nothing", nil, func(*binding.Binding) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events []said
			for _, ev := range tt.events {
				events = append(events, said{ev[0], decoded(t, ev[1])})
			}
			got, want := readGreeting(events), std
			tt.want(&want)
			if diff := cmp.Diff(want, got.wire); diff != "" {
				t.Errorf("wire: - want + got\n%s", diff)
			}
			if (got.listed != "") != tt.listed {
				t.Errorf("listed %q", got.listed)
			}
		})
	}
}

func TestFindSessionID(t *testing.T) {
	for _, tt := range []struct {
		answer string
		at     target.Pointer
		id     string
	}{
		{`{"success":true,"session":{"id":"s1"}}`, "/session/id", "s1"},
		{`{"sessionId":"s1","id":"other"}`, "/sessionId", "s1"},
		{`{"ok":true,"result":{"sid":"s1"}}`, "/result/sid", "s1"},
		{`{"id":"s1"}`, "/id", "s1"},
		{`{"request":"r","data":{"session":{"id":"s1"}}}`, "/data/session/id", "s1"},
		{`{"ok":true}`, "", ""},
		{`{"id":7}`, "", ""},
		{`[]`, "", ""},
	} {
		if at, id := findSessionID(decoded(t, tt.answer)); at != tt.at || id != tt.id {
			t.Errorf("%s: %q at %q, want %q at %q", tt.answer, id, at, tt.id, tt.at)
		}
	}
}

// TestDraft checks that, whatever a server says, the draft is a valid profile with the findings.
func TestDraft(t *testing.T) {
	p, err := binding.Kind().ForURL("http://127.0.0.1:3000/base")
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers, p.Capabilities = []string{"ws", "sse"}, []string{binding.Health}
	p.Agents.Default = "poet"
	nasty := target.CustomAgent{ID: "poet", Name: "a: \"b\" #c\n- d", Description: "诗人 \u2028 \u0000"}
	p.Agents.Custom = []target.CustomAgent{nasty, {ID: "null"}}
	a := binding.Of(p)
	a.Correlation = binding.Correlation{Header: "X-Client-Id"}
	a.Envelope.SSEEvent, a.Envelope.Type, a.Envelope.Data = true, "", ""
	a.Fields.Event.ConnectionID, a.Fields.Answer.SessionID, a.Fields.Agent.ID = "/a b", "/x~1y/0", "/agent_id"
	a.Events = map[string]string{"connected": "hello: you", "agent_list": "*"}
	s := probe.NewSession(nil, p, nil)
	s.Seen["drivers"], s.Seen["answer"] = []string{"a\nurl: http://evil\x00\u2028"}, []string{"# x"}
	text := draft(s)

	got, err := kinds.Parse([]byte(text), "draft.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := profiletest.Diff(p, got); diff != "" {
		t.Errorf("- found + read\n%s\n%s", diff, text)
	}
	for _, key := range []string{"#command:", "#headers:", "#hooks:", "#model:", "#tools:", "#provoke:"} {
		if !strings.Contains(text, "\n"+key) {
			t.Errorf("no hint about %s", key)
		}
	}
}
