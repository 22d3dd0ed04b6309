package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transcript"
)

// request is an envelope of a party that is to be answered.
type request struct {
	of   *party
	id   string
	kind string
	tool string // of a tool.call
	sure bool   // its params are such that the announced schema settles that they are right
	last bool   // it is the last call of the booking path, behind which there is no next screen
	mark int    // number of the record by which it was sent

	untyped bool   // the envelope has no type that is a string
	before  state  // what was told before a call of the booking path
	body    object // its payload
}

func (s *suite) registerRequests(sc *godog.ScenarioContext) {
	steps.Step(sc, `^agent (\w+) counts its requests from 1$`, func(name string) error { s.party(name).counting = 1; return nil })
	steps.Step(sc, `^agent (\w+) is refused with "(\w+)"$`, func(ctx context.Context, name, code string) error { return s.isRefused(ctx, s.party(name), code) })
	steps.Step(sc, `^agent (\w+) is refused with "(\w+)" or "(\w+)" or "(\w+)"$`, func(ctx context.Context, name, a, b, c string) error {
		return s.isRefused(ctx, s.party(name), a, b, c)
	})
	steps.Step(sc, `^agent (\w+) is refused with "(\w+)" or "(\w+)"$`, func(ctx context.Context, name, a, b string) error { return s.isRefused(ctx, s.party(name), a, b) })
}

// newID is an id that no other request of the run has.
func (s *suite) newID() string { return fmt.Sprintf("req-%s-%d", s.Nonce, s.Serial()) }

// idFor is an id for a request of a party: one that counts from 1 has the same ids behind each loss of its connection.
func (s *suite) idFor(p *party) string {
	if p.counting == 0 {
		return s.newID()
	}
	p.counting++
	return fmt.Sprintf("req-%03d", p.counting-1)
}

// ask sends a request with a fresh id.
func (s *suite) ask(ctx context.Context, p *party, kind string, body object) (*request, error) {
	q := &request{of: p, id: s.idFor(p), kind: kind, body: body}
	var err error
	q.mark, err = s.send(ctx, p, envelope(kind, q.id, "", body))
	p.last, p.asked = q, append(p.asked, q)
	return q, err
}

// send sends an envelope, or what is to be sent in place of one, as a party's act.
func (s *suite) send(ctx context.Context, p *party, v any) (int, error) {
	if err := s.connected(ctx, p); err != nil {
		return 0, err
	}
	m, err := message(v)
	if err != nil {
		return 0, err
	}
	mark, err := p.conn.Send(ctx, m)
	if at := s.endedAt(p); at > 0 && (err != nil || at < mark) {
		return 0, s.Need(steps.Check{Clauses: []string{"EA-016", "EA-106"}, At: at, Expected: "a connection that stays for the next message",
			Observed: steps.Seen(s.T.After(at - 1)[0])})
	}
	if err != nil {
		return 0, fmt.Errorf("%s: send %s: %w", p.name, m.Label, err)
	}
	if mark == 0 {
		s.CutOff()
		return 0, steps.NotTestedf("the transcript is full: the target has sent more than it holds")
	}
	s.mark = mark
	return mark, nil
}

// answer waits for what answers a request, whatever it says.
func (s *suite) answer(ctx context.Context, q *request) (transcript.Record, *steps.Miss) {
	return s.answerAs(ctx, q, "an answer to "+q.kind)
}

// answerAs is answer with the kind of what is awaited: a target may refuse nothing, and answer everything else.
func (s *suite) answerAs(ctx context.Context, q *request, kind string) (transcript.Record, *steps.Miss) {
	rec, miss := s.Await(ctx, steps.Wait{Conn: q.of.name, After: q.mark, Kind: kind, Fence: s.fence(q.of), Match: answers(q.id)})
	if miss != nil {
		miss.Reason, miss.At = s.instead(q, miss)
	}
	return rec, miss
}

// instead says what came in place of an answer: one that names another request, or none, is what its author has to look at.
func (s *suite) instead(q *request, miss *steps.Miss) (string, int) {
	for _, r := range s.Between(q.of.name, q.mark, 0) {
		if kind := kindOf(&r); kind == answerOf[q.kind] || kind == vocab.ErrorMessage {
			if to := field(&r, "replyTo"); !slices.ContainsFunc(q.of.asked, func(o *request) bool { return o.id == to }) {
				return fmt.Sprintf("%s, whose replyTo is not %q: %s", kind, q.id, steps.Seen(r)), r.N
			}
		}
	}
	return "no answer whose replyTo is " + fmt.Sprintf("%q: ", q.id) + miss.Reason, miss.At
}

// answerOf tells by which message each request is answered.
var answerOf = map[string]string{
	vocab.RelayJoin: vocab.RelayJoined, vocab.SessionStart: vocab.SessionStarted, vocab.SnapshotGet: vocab.SnapshotState,
	vocab.ToolCall: vocab.ToolResult, vocab.SessionEnd: vocab.SessionEnded,
}

// needAnswer waits for the answer of a kind to a request, without which a scenario cannot go on. A miss is charged to the
// clauses; that it came passes none of them.
func (s *suite) needAnswer(ctx context.Context, q *request, kind string, clauses ...string) (transcript.Record, error) {
	rec, miss := s.answer(ctx, q)
	check := steps.Check{Clauses: clauses, OK: miss == nil, Expected: fmt.Sprintf("%s with replyTo %q, the id of %s", kind, q.id, q.kind), At: q.mark}
	switch {
	case miss != nil:
		check.Observed = miss.Reason
		if miss.At > 0 {
			check.At = miss.At
		}
	case kindOf(&rec) != kind:
		check.OK, check.Observed, check.At = false, steps.Seen(rec), rec.N
	default:
		return rec, nil
	}
	return rec, s.Need(check)
}

// codeOf is the error code of an answer: of an error, or of a tool.result that is not ok. "" where it has none.
func (s *suite) codeOf(r *transcript.Record) string {
	env, _ := r.Event.Envelope.(object)
	switch kindOf(r) {
	case vocab.ErrorMessage:
		v, _ := s.wire.Fields.ErrorCode.Get(env)
		code, _ := v.(string)
		return code
	case vocab.ToolResult:
		if payload(r)["ok"] != false {
			return ""
		}
		for _, at := range s.wire.Fields.ResultCode {
			if v, ok := at.Get(env); ok {
				code, _ := v.(string)
				return code
			}
		}
	}
	return ""
}

// refused tells whether an answer is a refusal: an error, or a tool.result whose ok is false (EA-104).
func refused(r *transcript.Record) bool {
	return kindOf(r) == vocab.ErrorMessage || kindOf(r) == vocab.ToolResult && payload(r)["ok"] == false
}

// refusal clauses by code.
var ofCode = map[string][]string{
	vocab.InvalidMessage: {"EA-078", "EA-020", "EA-024a"}, vocab.SessionNotActive: {"EA-079", "EA-079a"},
	vocab.UnknownTool: {"EA-080", "EA-096"}, vocab.InvalidParams: {"EA-081", "EA-071"},
	vocab.NoActiveSpec: {"EA-082"}, vocab.ToolExecutionFailed: {"EA-083"},
}

// isRefused judges that the latest request of a party is refused with one of the codes.
func (s *suite) isRefused(ctx context.Context, p *party, codes ...string) error {
	q := p.last
	if q == nil {
		return steps.NotTestedf("agent %s has asked for nothing", p.name)
	}
	return s.judgeRefusal(ctx, q, codes...)
}

// judgeRefusal judges the answer to one request.
func (s *suite) judgeRefusal(ctx context.Context, q *request, codes ...string) error {
	var clauses []string
	for _, c := range codes {
		clauses = append(clauses, ofCode[c]...)
	}
	shown := slices.Clone(clauses)
	clauses = append(clauses, "EA-068")
	if q.kind == vocab.ToolCall {
		clauses = append(clauses, "EA-104", "EA-074")
		shown = append(shown, "EA-104", "EA-074")
	}
	rec, miss := s.answerAs(ctx, q, "a refusal of "+q.kind+" with "+oneOf(codes))
	check := steps.Check{Clauses: clauses, Expected: fmt.Sprintf("%s, or a tool.result with ok:false, with %s and replyTo %q", vocab.ErrorMessage, oneOf(codes), q.id), At: q.mark}
	group := func(outcome string) string { return strings.Join([]string{q.kind, q.tool, oneOf(codes), outcome}, " ") }
	if q.kind != vocab.ToolCall {
		check.Expected = fmt.Sprintf("%s with %s and replyTo %q", vocab.ErrorMessage, oneOf(codes), q.id)
	}
	switch {
	case miss != nil:
		check.Observed = miss.Reason
		if miss.At > 0 {
			check.At = miss.At
		}
		return s.Need(check)
	case !refused(&rec):
		check.Group = group("taken")
		check.Clauses, check.Observed, check.At = drop(clauses, "EA-068", "EA-104", "EA-074"), steps.Seen(rec), rec.N
		return s.Judge(check)
	case s.codeOf(&rec) == vocab.NoActiveSpec && !slices.Contains(codes, vocab.NoActiveSpec) && s.nothingShown(q):
		return steps.NotTestedf("no uiSpec is active, so that every call is refused with %s", vocab.NoActiveSpec)
	case !slices.Contains(codes, s.codeOf(&rec)):
		check.Group = group(s.codeOf(&rec))
		check.Clauses, check.Observed, check.At = drop(clauses, "EA-068", "EA-104", "EA-074"), steps.Seen(rec), rec.N
		return s.Judge(check)
	}
	if kindOf(&rec) == vocab.ErrorMessage {
		shown = append(shown, "EA-068")
	}
	return s.Judge(steps.Check{Clauses: shown, OK: true, At: rec.N})
}

// nothingShown tells whether uiSpec was null in the last state that was told before a request.
func (s *suite) nothingShown(q *request) bool {
	null := false
	for _, r := range s.Between(q.of.name, q.of.opened, q.mark) {
		if received(vocab.StateUpdated, vocab.SnapshotState)(&r) {
			v, there := payload(&r)["uiSpec"]
			null = there && v == nil
		}
	}
	return null
}

func oneOf(codes []string) string {
	out := "code " + codes[0]
	for _, c := range codes[1:] {
		out += " or " + c
	}
	return out
}

func drop(list []string, out ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(out, id) })
}
