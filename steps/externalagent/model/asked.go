package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// ofCode maps error codes to the clauses of a refusal.
var ofCode = map[string][]string{
	vocab.InvalidMessage: {"EA-078", "EA-020", "EA-024a"}, vocab.SessionNotActive: {"EA-079", "EA-079a"},
	vocab.UnknownTool: {"EA-080", "EA-096"}, vocab.InvalidParams: {"EA-081", "EA-071"},
	vocab.NoActiveSpec: {"EA-082"}, vocab.ToolExecutionFailed: {"EA-083"},
}

// Code returns the error code of an answer, either an error or a tool.result that is not ok, or "".
func (m *Model) Code(answer *transcript.Record) (code string) {
	switch a := read(*answer); {
	case a.kind == vocab.ErrorMessage:
		code, _ = m.forms.places.ofError(a).(string)
	case a.failed():
		v, _ := m.forms.places.ofResult(a, false)
		code, _ = v.(string)
	}
	return code
}

// Refusal is what a request of the harness has to be answered with.
type Refusal struct {
	Request transcript.Record
	Codes   []string
	ID      string // that the answer names; "": it need not
	Invalid bool   // the request is not an envelope of the protocol
	Early   bool   // its party has not joined
	Closes  bool   // or the connection is closed
}

func (d *Refusal) expected(q message) string {
	out := "error with " + OneOf(d.Codes)
	switch {
	case d.Invalid || d.Early:
	case q.kind == vocab.ToolCall:
		out = fmt.Sprintf("error, or a tool.result with ok:false, with %s and replyTo %q", OneOf(d.Codes), d.ID)
	default:
		out += fmt.Sprintf(" and replyTo %q", d.ID)
	}
	if d.Closes {
		out += ", or its connection closed"
	}
	return out
}

// OneOf names error codes.
func OneOf(codes []string) string { return "code " + strings.Join(codes, " or ") }

// Refused judges the answer to a request that has to be refused, or the end of the connection instead. miss says why
// there is none; answer is then what came in its place, if anything. excused says why nothing is judged.
func (m *Model) Refused(d Refusal, answer transcript.Record, miss *verdict.Miss) (out []verdict.Finding,
	excused string) {
	q, a, of := m.asked(d.Request), read(answer), []string{}
	for _, code := range d.Codes {
		of = append(of, ofCode[code]...)
	}
	var any []string // for any answer
	plain := !d.Invalid && !d.Early
	if plain && q.kind == vocab.ToolCall {
		any = []string{"EA-104", "EA-074"}
	}
	if d.Early {
		of = []string{"EA-079b", "EA-026", "EA-025"}
	}
	code, null := "", false
	if a.Event != nil && miss == nil {
		code, null = m.Code(&answer), q.then != nil && q.then.null()
	}
	announced, _ := m.AtNull(d.Request)
	ok := slices.Contains(d.Codes, code)
	f := byModel(false, a.N, d.expected(q.message), a.told(), of...)
	switch {
	case miss != nil:
		clauses := slices.Concat(of, any)
		if plain {
			clauses = append(clauses, "EA-068")
		}
		if a.kind == vocab.ErrorMessage && plain { // it is there, under another id
			clauses = slices.Concat([]string{"EA-068"}, any, of)
		}
		return m.Unanswered(d.Request, f.Expected, miss, clauses...), ""
	case a.Kind != transcript.Frame:
		f.OK = d.Closes
	case plain && slices.Contains(d.Codes, vocab.NoActiveSpec) && !a.failed() && announced:
		return nil, q.tool + " is announced in the state without a uiSpec, and carried out"
	case plain && code == vocab.NoActiveSpec && !ok && null:
		return nil, "no uiSpec is active, so that every call is refused with " + vocab.NoActiveSpec
	case plain && ok:
		if f.OK, f.Clauses = true, append(of, any...); a.kind == vocab.ErrorMessage {
			f.Clauses = append(f.Clauses, "EA-068")
		}
	case plain:
		if !a.failed() {
			code = "taken"
		}
		f.Group = strings.Join([]string{q.kind, q.tool, OneOf(d.Codes), code}, " ")
	default:
		if f.OK = ok; ok && d.ID != "" {
			out = append(out, byModel(a.to == d.ID, a.N, fmt.Sprintf("error with replyTo %q", d.ID), a.told(), "EA-068"))
		}
	}
	return append(out, f), ""
}

// asked returns a request of the harness.
func (m *Model) asked(r transcript.Record) *request {
	s := m.server()
	if l := s.lines[r.Conn]; l != nil {
		for _, q := range slices.Backward(l.order) {
			if q.N == r.N {
				return q
			}
		}
	}
	q := read(r)
	return &request{message: q, tool: q.word(vocab.ToolName)}
}

// Unanswered returns the findings of a request of the harness to which no answer has come; miss says why.
func (m *Model) Unanswered(request transcript.Record, expected string, miss *verdict.Miss, clauses ...string,
) []verdict.Finding {
	f := miss.Check(expected, clauses...)
	f.At, f.Judge = cmp.Or(miss.At, request.N), verdict.ByModel
	return []verdict.Finding{f}
}

// Answered judges that a call which the harness has sent together with others has an answer of its own: its result, or
// a refusal. which says which call it is.
func (m *Model) Answered(call, answer transcript.Record, which string, miss *verdict.Miss) []verdict.Finding {
	id, _ := read(call).id()
	expected := fmt.Sprintf("an answer with replyTo %q, the id of %s", id, which)
	if miss != nil {
		return m.Unanswered(call, expected, miss, "EA-046", "EA-047", "EA-074")
	}
	a := read(answer)
	ok := a.kind == vocab.ToolResult || a.kind == vocab.ErrorMessage
	return []verdict.Finding{byModel(ok, a.N, expected, a.told(), "EA-046", "EA-074", "EA-047")}
}

// Accepted judges the answer to a call of an announced tool with params that match its schema, sure by what the schema
// says: the tool is known and the params are accepted, but it may fail while it runs. miss says why there is no answer.
func (m *Model) Accepted(call, answer transcript.Record, sure bool, miss *verdict.Miss) []verdict.Finding {
	q, a := read(call), read(answer)
	tool := q.word(vocab.ToolName)
	if miss != nil {
		return m.Unanswered(call, "an answer to "+tool+", an announced tool", miss, "EA-007", "EA-046", "EA-047", "EA-080",
			"EA-081")
	}
	code := m.Code(&answer)
	out := []verdict.Finding{{Clauses: []string{"EA-080", "EA-096"}, OK: code != vocab.UnknownTool,
		Group: "unknown: " + tool, Expected: "an announced tool that is known"}}
	if sure {
		out = append(out, verdict.Finding{Clauses: []string{"EA-081"}, OK: code != vocab.InvalidParams,
			Group:    "valid params of " + tool,
			Expected: "params that match the announced schema accepted: " + wjson.Compact(q.body[vocab.Params])})
	}
	if !a.failed() {
		out = append(out, verdict.Finding{Clauses: []string{"EA-007", "EA-046", "EA-047"}, OK: a.body[vocab.OK] == true,
			Group: "ok of " + tool, Expected: "payload.ok is true or false"})
	}
	for i := range out {
		out[i].At, out[i].Observed, out[i].Judge = a.N, a.told(), verdict.ByModel
	}
	return out
}

// RefusedThough judges the refusal of a call that is announced by its code. ok reports that no clause is broken: the
// tool may have failed while it ran. sure says that by the schema the params are valid.
func (m *Model) RefusedThough(call, answer transcript.Record, sure bool) (f verdict.Finding, ok bool) {
	f = byModel(false, answer.N, "the call of an announced tool carried out", read(answer).told())
	switch code := m.Code(&answer); {
	case code == vocab.UnknownTool:
		f.Clauses = []string{"EA-007", "EA-080", "EA-096", "EA-006"}
	case code == vocab.InvalidParams && sure:
		f.Clauses, f.Expected = []string{"EA-007", "EA-081"}, "params that match the announced schema accepted"
	case code == vocab.NoActiveSpec || code == vocab.SessionNotActive || code == vocab.InvalidMessage:
		f.Clauses = []string{"EA-007", "EA-046"}
	case m.server().role == vocab.Relay: // the harness is the host and follows its own path: the relay has changed it
		f.Clauses = []string{"EA-007"}
	}
	return f, f.Clauses == nil
}

// Taken judges that an agent.message is not refused, once everything before a record was handled. One with the members
// of a tool.call may be: excused says so.
func (m *Model) Taken(said transcript.Record, before int) (f verdict.Finding, excused string) {
	q := m.asked(said)
	f = byModel(true, before, "no error", "", "EA-008")
	for _, e := range m.historyOf(said.Conn).results {
		if e.N < said.N || !e.failed() || e.to != q.name && e.to != "" {
			continue
		}
		if _, odd := q.body[vocab.ToolName]; odd && m.Code(&e.Record) == vocab.InvalidMessage {
			return f, "an agent.message with members of a tool.call is refused"
		}
		f.OK, f.At, f.Observed = false, e.N, e.told()
		break
	}
	return f, ""
}

// Heard judges that what the participant has said once reaches an agent as a user.message, unchanged, once. mark is a
// word of it. miss says why it has not come.
func (m *Model) Heard(conn string, after int, word, said string, miss *verdict.Miss) (out []verdict.Finding) {
	var first message
	for _, u := range m.historyOf(conn).heard {
		text := u.word(vocab.Text)
		switch {
		case u.N <= after || !strings.Contains(wjson.Compact(u.Event.Data), word):
		case first.N == 0:
			first = u
			out = append(out, verdict.Finding{Clauses: []string{"EA-009"}, OK: true, At: u.N}, verdict.Finding{
				Clauses: []string{"EA-061"}, OK: strings.TrimSpace(text) == said, At: u.N, Group: "user.message text",
				Expected: "payload.text is what the participant said: " + wjson.Compact(said),
				Observed: "payload.text is " + wjson.Compact(u.body[vocab.Text])})
			out = append(out, m.At(u.N, "EA-060")...)
		case text == first.word(vocab.Text):
			out = append(out, verdict.Finding{Clauses: []string{"EA-009"}, At: u.N, Observed: u.told(),
				Expected: fmt.Sprintf("one user.message for what the participant has said once, record %d", first.N)})
		}
	}
	if first.N == 0 && miss != nil {
		out = append(out, miss.Check("user.message with what the participant said: …"+word, "EA-009", "EA-060"))
	}
	for i := range out {
		out[i].Judge = verdict.ByModel
	}
	return out
}

// AtNull says whether a call was made in a state that has no uiSpec and announces its tool, which need not be refused
// then, and whether a state with a uiSpec came before its answer.
func (m *Model) AtNull(call transcript.Record) (announced, crossed bool) {
	q := m.asked(call)
	for _, st := range m.historyOf(call.Conn).states {
		crossed = crossed || st.N > q.N && st.N < q.answer.N && st.UI != nil
	}
	return q.last != nil && q.last.null() && q.last.announces(q.tool), crossed
}
