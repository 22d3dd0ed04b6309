package agentclient

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/agentselect"
	"parley/steps/agentclient/looks"
	"parley/steps/agentclient/model"
	selectwire "parley/steps/agentselect/binding"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

func TestNumber(t *testing.T) {
	for row, want := range map[string]bool{
		"收到 3 个主代理": true, "agents: 3, current general": true, "(3)": true, "3": true, "3 agents": true, "n=3.": true,
		"03:12:12.123Z": false, "13": false, "30": false, "12:03:33": false, "three": false, "1.3": false, "3.5": false,
	} {
		if got := number(3)(row); got != want {
			t.Errorf("number(3)(%q) = %v", row, got)
		}
	}
}

func TestShown(t *testing.T) {
	at := time.Date(2025, 12, 30, 3, 17, 5, 123_000_000, time.UTC)
	for row, want := range map[string]bool{
		"2025-12-30T03:17:05.123Z": true, "03:17:05": true, "11:17:05 agent_list": true, "上午3:17:05": true,
		"3:17:05 AM": true, "2025/12/30 11:17:05": true,
		"3时17分05秒": true, "1767064625": true, "1767064625123": true,
		"03:17:06": false, "03:18:05": false, "17:05": false, "03:17:051": false, "": false, "3:17": false,
	} {
		if got := shown(row, at); got != want {
			t.Errorf("shown(%q) = %v", row, got)
		}
	}
}

func TestMisplaced(t *testing.T) {
	at := func(left, top, width, height float64) snapshot.Rect {
		return snapshot.Rect{Left: left, Top: top, Width: width, Height: height}
	}
	page := func(sel, button snapshot.Rect, between int) *snapshot.Page {
		return &snapshot.Page{Between: between, Select: snapshot.Select{Control: snapshot.Control{Found: true, Visible: true,
			Rect: sel}},
			Controls: map[string]snapshot.Control{
				model.NewSession: {Found: true, Visible: true, Rect: button},
				chat:             {Found: true, Visible: true, Rect: at(200, 100, 800, 500)},
			}}
	}
	hidden := page(at(700, 60, 120, 30), at(830, 60, 100, 30), 0)
	hidden.Select.Visible = false
	for _, r := range []struct {
		reason string
		l      *snapshot.Page
		ok     bool
	}{
		{"left of the button", page(at(700, 60, 120, 30), at(830, 60, 100, 30), 0), true},
		{"right of the button", page(at(830, 60, 120, 30), at(720, 64, 100, 24), 0), true},
		{"another row", page(at(700, 10, 120, 30), at(830, 60, 100, 30), -1), false},
		{"something between", page(at(700, 60, 50, 30), at(880, 60, 100, 30), 2), false},
		{"at the left", page(at(210, 60, 120, 30), at(340, 60, 100, 30), 0), false},
		{"below the chat", page(at(700, 620, 120, 30), at(830, 620, 100, 30), 0), false},
		{"hidden", hidden, false},
	} {
		if got := misplaced(r.l); (got == "") != r.ok {
			t.Errorf("%s: %q", r.reason, got)
		}
	}
}

func TestFresh(t *testing.T) {
	rows := func(texts ...string) *snapshot.Page {
		l := &snapshot.Page{}
		for _, text := range texts {
			l.Log = append(l.Log, snapshot.Row{Text: text})
		}
		return l
	}
	for _, r := range []struct {
		before, now *snapshot.Page
		want        string
	}{
		{rows("a", "b"), rows("a", "b", "c"), "c"},
		{rows("b", "a"), rows("c", "b", "a"), "c"},
		{rows("a"), rows("a", "a"), "a"},
		{nil, rows("a"), "a"},
		{rows("a", "b"), rows("a", "b"), ""},
		{rows("a", "b"), rows("c"), "c"},
	} {
		var got []string
		for _, row := range fresh(r.before, r.now) {
			got = append(got, row.Text)
		}
		if strings.Join(got, " ") != r.want {
			t.Errorf("fresh(%v, %v) = %v, want %s", r.before, r.now, got, r.want)
		}
	}
}

func TestNews(t *testing.T) {
	say := func(text string) *snapshot.Page { return &snapshot.Page{Text: text} }
	for _, r := range []struct {
		before, now *snapshot.Page
		text        string
		more        bool
		news        string
	}{
		{say("a b"), say("a 出错了 b"), "出错了", true, "出错了"},
		{say("出错了"), say("出错了"), "出错了", false, ""},
		{say("出错了"), say("出错了 出错了"), "出错了", true, "出错了"},
		{nil, say("出错了"), "出错了", true, "出错了"},
	} {
		if got := looks.More(r.before, r.now, r.text); got != r.more {
			t.Errorf("More(%v, %v, %q) = %v", r.before, r.now, r.text, got)
		}
		if got := appeared(r.before, r.now); got != r.news {
			t.Errorf("appeared(%v, %v) = %q, want %q", r.before, r.now, got, r.news)
		}
	}
}

func TestChanged(t *testing.T) {
	if got := changed([]string{"a", "b"}, []string{"b", "c"}); cmp.Diff([]string{"a", "c"}, got) != "" {
		t.Errorf("%v", got)
	}
	if got := changed([]string{"a"}, []string{"a"}); got != nil {
		t.Errorf("%v", got)
	}
}

// wires returns the default binding and one with every possible difference.
func wires() map[string]wire {
	other := selectwire.Default()
	other.Envelope = selectwire.Envelope{Type: "/kind", Data: "/body/it", Timestamp: "/at", RequestID: "/rid"}
	other.Fields.Event.CurrentAgentID, other.Fields.Event.Agents, other.Fields.Agent.Name = "/now/id", "/list", "/label"
	other.Fields.Request.AgentID, other.Fields.Request.SessionID, other.Fields.Request.Type = "/to/agent", "/in", "/do"
	other.Events = map[string]string{vocab.AgentListEvent: "agents"}
	other.Messages = map[string]string{vocab.SwitchAgentType: "use"}
	other.SSE.Message.Path, other.SSE.Create.Path = "/api/say", "/api/new"
	named := selectwire.Default()
	named.Envelope.SSEEvent, named.Envelope.Data = true, ""
	return map[string]wire{"default": {selectwire.Default()}, "other": {other}, "named": {named}}
}

func TestEvents(t *testing.T) {
	agents := []agent{{id: "a", name: "A", description: "d", more: fields{"icon": "x"}}}
	for name, want := range map[string]string{
		"default": `data: {"data":{"agents":[{"description":"d","icon":"x","id":"a","name":"A"}],"currentAgentId":null,` +
			`"timestamp":"T"},"timestamp":"T","type":"agent_list"}`,
		"other": `data: {"at":"T","body":{"it":{"list":[{"description":"d","icon":"x","id":"a","label":"A"}],` +
			`"now":{"id":null},"timestamp":"T"}},"kind":"agents"}`,
		"named": "event: agent_list\n" +
			`data: {"agents":[{"description":"d","icon":"x","id":"a","name":"A"}],"currentAgentId":null,"timestamp":"T"}`,
	} {
		got := string(wires()[name].event(vocab.AgentListEvent, fields{vocab.Agents: agents, vocab.CurrentAgentID: nil}, "T"))
		if got != want+"\n\n" {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	got := string(wires()["default"].event(vocab.ErrorEvent, fields{vocab.Message: "<b>"}, nil))
	if got != `data: {"data":{"message":"<b>"},"type":"error"}`+"\n\n" {
		t.Error(got)
	}
}

func TestRequests(t *testing.T) {
	for _, r := range []struct{ wire, label, body, kind, data string }{
		{"default", "POST /message", `{"type":"switch_agent","agentId":"a","sessionId":"s"}`, "switch_agent",
			"map[agentId:a sessionId:s type:switch_agent]"},
		{"default", "POST http://127.0.0.1:1/base/message?x=1", `{"type":"chat","content":"hi"}`, "chat",
			"map[content:hi type:chat]"},
		{"other", "POST /api/say", `{"do":"use","to":{"agent":"a"},"in":"s"}`, "switch_agent",
			"map[agentId:a sessionId:s type:use]"},
		{"other", "POST /message", `{"do":"use"}`, "", ""},
		{"default", "POST /message", `no JSON`, "", ""},
		{"default", "POST /message", `[]`, "", ""},
		{"default", "GET /events", "", model.StreamType, "map[]"},
		{"default", "POST /session/create", `{"initialAgentId":"a"}`, model.CreateType, "map[initialAgentId:a]"},
		{"other", "POST /api/new", `{}`, model.CreateType, "map[]"},
		{"default", "DELETE /session/x", "", model.DeleteType, "map[]"},
		{"default", "GET /favicon.ico", "", "", ""},
		{"default", "GET /message", "", "", ""},
		{"default", "POST /message", `{"type":"make_agent"}`, "make_agent", "map[type:make_agent]"},
	} {
		rec := transcript.Record{Dir: transcript.Received, Kind: transcript.Request, Label: r.label, Bytes: []byte(r.body)}
		wires()[r.wire].decode(&rec)
		switch {
		case rec.Event == nil && r.kind == "":
		case rec.Event == nil || rec.Event.Type != r.kind || fmt.Sprint(rec.Event.Data) != r.data:
			t.Errorf("%s: %s %s is %+v, want %s %s", r.wire, r.label, r.body, rec.Event, r.kind, r.data)
		}
	}
	answer := transcript.Record{
		Dir:    transcript.Sent,
		Kind:   transcript.Response,
		Status: 200,
		Bytes:  []byte(`{"success":true,"session":{"id":"s1"}}`),
	}
	if wires()["default"].decode(&answer); answer.Event == nil || answer.Event.Type != given ||
		fmt.Sprint(answer.Event.Data) != "map[body:map[session:map[id:s1] success:true] sessionId:s1]" {
		t.Errorf("%+v", answer.Event)
	}
	answer.Bytes = []byte(`{"success":false}`)
	if wires()["default"].decode(&answer); answer.Event == nil || answer.Event.Type != answered ||
		fmt.Sprint(answer.Event.Data) != "map[body:map[success:false] refused:true]" {
		t.Errorf("%+v", answer.Event)
	}
}

// TestEventsToPages checks that events are decoded both as the scripted server sent them and as a stream delivered
// them.
func TestEventsToPages(t *testing.T) {
	for _, r := range []struct{ kind, bytes, data string }{
		{"", "data: {\"type\":\"connected\",\"data\":{\"connectionId\":\"c\"}}\n\n", "connected map[connectionId:c]"},
		{"message", `{"type":"connected","data":{"connectionId":"c"}}`, "connected map[connectionId:c]"},
		{"message", `{"type":"agent_list","data":{"agents":[{"id":"a","name":"A","more":1}],"currentAgentId":null}}`,
			"agent_list map[agents:[map[id:a name:A]] currentAgentId:<nil>]"},
		{"message", `{"type":"error","data":{"errorCode":"x","other":"y"}}`, "error map[errorCode:x other:y]"},
		{"", "retry: 10\n\n", ""},
		{"message", "no JSON", ""},
		{"message", `{"data":{}}`, ""},
	} {
		rec := transcript.Record{Dir: transcript.Sent, Kind: transcript.Stream, Type: r.kind, Bytes: []byte(r.bytes)}
		wires()["default"].decode(&rec)
		got := ""
		if rec.Event != nil {
			got = fmt.Sprint(rec.Event.Type, " ", rec.Event.Data)
		}
		if got != r.data {
			t.Errorf("%s %s is %q, want %q", r.kind, r.bytes, got, r.data)
		}
	}
	for name, w := range wires() { // under the default names, whatever the binding
		rec := transcript.Record{Dir: transcript.Sent, Kind: transcript.Stream, Bytes: w.event(vocab.AgentListEvent,
			fields{vocab.Agents: []agent{{id: "a", name: "A"}}, vocab.CurrentAgentID: "a"}, "T")}
		w.decode(&rec)
		if rec.Event == nil || rec.Event.Type != vocab.AgentListEvent {
			t.Fatalf("%s: %+v", name, rec.Event)
		}
		data, _ := rec.Event.Data.(fields)
		if fmt.Sprint(data[vocab.Agents], data[vocab.CurrentAgentID]) != "[map[id:a name:A]]a" {
			t.Errorf("%s: %v", name, data)
		}
	}
}
