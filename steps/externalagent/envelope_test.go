package externalagent

import (
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// heard returns a record of a text sent by a target.
func heard(text string) *transcript.Record {
	r := &transcript.Record{N: 1, Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(text)}
	decode(r)
	return r
}

// TestDecode checks that any JSON object becomes an event, whatever its members are.
func TestDecode(t *testing.T) {
	for _, r := range []struct{ reason, in, kind, id, data string }{
		{"whole", `{"v":"mvp-0.2","type":"tool.result","id":"a","payload":{"ok":true}}`, "tool.result", `"a"`, `{"ok":true}`},
		{"nothing", `{}`, "", `null`, `null`},
		{"a type that is a number", `{"type":7,"id":7,"payload":[]}`, "", `7`, `[]`},
	} {
		got := heard(r.in)
		if got.Event == nil || got.Event.Type != r.kind || wjson.Compact(got.Event.RequestID) != r.id ||
			wjson.Compact(got.Event.Data) != r.data || got.Label != r.kind {
			t.Errorf("%s: %+v", r.reason, got.Event)
		}
	}
	for _, in := range []string{"", "null", "[]", `"a"`, "7", "{", "{}{}", "\xff"} {
		if got := heard(in); got.Event != nil || kindOf(got) != "" || field(got, vocab.Type) != "" || payload(got) != nil ||
			answers("a")(got) || received("")(got) {
			t.Errorf("%q is an event: %+v", in, got.Event)
		}
	}
	if got := heard(`{"type":"a","type":"a"}`); len(got.Event.Faults) != 1 {
		t.Errorf("a member that is given twice: %v", got.Event.Faults)
	}
	other := &transcript.Record{Kind: transcript.Open, Bytes: []byte(`{}`)}
	if decode(other); other.Event != nil {
		t.Error("what is no frame is an event")
	}
	labelled := &transcript.Record{Kind: transcript.Frame, Label: "spoilt", Bytes: []byte(`{"type":"a"}`)}
	if decode(labelled); labelled.Label != "spoilt" {
		t.Errorf("the label has become %q", labelled.Label)
	}
}

func TestEnvelope(t *testing.T) {
	for _, r := range []struct {
		reason string
		in     object
		want   string
	}{
		{"a push", envelope("a", "", "", object{}), `{"payload":{},"type":"a","v":"mvp-0.2"}`},
		{"a request", envelope("a", "i", "", nil), `{"id":"i","payload":null,"type":"a","v":"mvp-0.2"}`},
		{"an answer", envelope("a", "", "r", object{"x": 1}), `{"payload":{"x":1},"replyTo":"r","type":"a","v":"mvp-0.2"}`},
	} {
		m, err := message(r.in)
		if err != nil || string(m.Body) != r.want || m.Label != "a" || m.Binary {
			t.Errorf("%s: %s %q, %v", r.reason, m.Body, m.Label, err)
		}
	}
	if _, err := message(object{"a": func() {}}); err == nil || !strings.Contains(err.Error(), "encode an envelope: ") {
		t.Errorf("what is no JSON: %v", err)
	}
}

// TestRefused checks that a refusal is an error or a result that is not ok, with its code where the profile says.
func TestRefused(t *testing.T) {
	for _, r := range []struct {
		reason, in string
		refused    bool
		code       string
	}{
		{"an error", `{"type":"error","payload":{"code":"UNKNOWN_TOOL"}}`, true, "UNKNOWN_TOOL"},
		{"an error without a code", `{"type":"error","payload":{}}`, true, ""},
		{"an error whose code is a number", `{"type":"error","payload":{"code":7}}`, true, ""},
		{"an error without a payload", `{"type":"error"}`, true, ""},
		{"an error with its code elsewhere", `{"type":"error","payload":{"error":{"code":"UNKNOWN_TOOL"}}}`, true, ""},
		{"a result that is not ok", `{"type":"tool.result","payload":{"ok":false,"code":"INVALID_PARAMS"}}`, true,
			"INVALID_PARAMS"},
		{"a result that has its code in an error",
			`{"type":"tool.result","payload":{"ok":false,"error":{"code":"INVALID_PARAMS"}}}`, true, "INVALID_PARAMS"},
		{"a result with both", `{"type":"tool.result","payload":{"ok":false,"code":"A","error":{"code":"B"}}}`, true, "A"},
		{"a result without a code", `{"type":"tool.result","payload":{"ok":false}}`, true, ""},
		{"a result whose code is a list", `{"type":"tool.result","payload":{"ok":false,"code":[]}}`, true, ""},
		{"a result that is ok", `{"type":"tool.result","payload":{"ok":true,"code":"INVALID_PARAMS"}}`, false, ""},
		{"a result that does not say", `{"type":"tool.result","payload":{"code":"INVALID_PARAMS"}}`, false, ""},
		{"a result whose ok is a string", `{"type":"tool.result","payload":{"ok":"false"}}`, false, ""},
		{"another message", `{"type":"state.updated","payload":{"ok":false,"code":"A"}}`, false, ""},
	} {
		m := codesAt("/payload/code", pointers(binding.Default().Fields.ResultCode))
		if rec := heard(r.in); refused(rec) != r.refused || m.Code(rec) != r.code {
			t.Errorf("%s: refused %v with %q", r.reason, refused(rec), m.Code(rec))
		}
	}
	m := codesAt("/problem", "/payload/why")
	if m.Code(heard(`{"type":"error","problem":"A","payload":{"code":"B"}}`)) != "A" ||
		m.Code(heard(`{"type":"tool.result","payload":{"ok":false,"why":"C","code":"B"}}`)) != "C" {
		t.Error("a code is not read where the profile says")
	}
}

// codesAt returns the model of a host that has its error codes at these places.
func codesAt(inErrors, inResults string) *model.Model {
	m := model.New(vocab.Host, obligation.Ours)
	for _, label := range []string{model.CodeAt + inErrors, model.CodesAt + inResults} {
		m.Take(transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: label})
	}
	return m
}

func TestAnswers(t *testing.T) {
	rec := heard(`{"type":"error","replyTo":"r1"}`)
	sent := *rec
	sent.Dir = transcript.Sent
	if !answers("r1")(rec) || answers("r2")(rec) || answers("")(heard(`{"type":"error","replyTo":""}`)) ||
		answers("r1")(&sent) || answers("1")(heard(`{"replyTo":1}`)) {
		t.Error("what names a request is its answer, and nothing else")
	}
	if !received(vocab.ErrorMessage, "x")(rec) || received("x")(rec) || received()(rec) ||
		received(vocab.ErrorMessage)(&sent) {
		t.Error("received matches what the target has sent, by its type")
	}
}

func TestWords(t *testing.T) {
	if got := model.OneOf([]string{"A"}); got != "code A" {
		t.Error(got)
	}
	if got := model.OneOf([]string{"A", "B", "C"}); got != "code A or B or C" {
		t.Error(got)
	}
	if got := strings.Join(quoted(`"A" or "B" or "C"`), " "); got != "A B C" {
		t.Error(got)
	}
	if got := strings.Join(names(object{"b": 1, "a": nil}), " "); got != "a b" {
		t.Error(got)
	}
}
