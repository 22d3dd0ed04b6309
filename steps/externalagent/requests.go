package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// request is an envelope of a party that needs an answer.
type request struct {
	of   *party
	id   string
	kind string
	tool string // of a tool.call
	sure bool   // by the announced schema, its params are definitely valid
	last bool   // it is the last call of the booking path, without a next screen
	mark int    // number of its record

	vain    bool   // it succeeded, but no state has shown the effect that is due
	mayPass string // why this host may accept a call that is meant to fail; "": it may not
	untyped bool   // the envelope has no string type
	before  state  // the state before a call of the booking path
	body    object // its payload
	laid    laid   // the logs that existed before a session.start
}

// newWord returns a text that is unique in the run.
func (s *suite) newWord(kind string) string {
	return fmt.Sprintf("%s-%s-%d", kind, s.Nonce, s.Serial())
}

// newID returns an id that is unique in the run.
func (s *suite) newID() string { return s.newWord("req") }

// idFor returns an id for a request of a party. A party that counts from 1 reuses ids after each reconnect. One that
// numbers its requests has ids that look like numbers, and are strings.
func (s *suite) idFor(p *party) string {
	if p.counting == 0 {
		return s.newID()
	}
	p.counting++
	if p.numbers {
		return strconv.Itoa(p.counting - 1)
	}
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

// send sends an envelope, or its replacement, as a party's act.
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
		return 0, s.Need(s.dropped(at, "EA-016", "EA-106"))
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

// answer waits for the answer to a request, whatever it says.
func (s *suite) answer(ctx context.Context, q *request) (transcript.Record, *verdict.Miss) {
	return s.answerAs(ctx, q, "an answer to "+q.kind, "")
}

// refusalOf is answer for a request that must be refused: a target may refuse nothing and answer everything else.
func (s *suite) refusalOf(ctx context.Context, q *request, codes []string) (transcript.Record, *verdict.Miss) {
	return s.answerAs(ctx, q, "a refusal of "+q.kind+" with "+model.OneOf(codes), "a refusal")
}

// answerAs is answer with a name for the wait.
func (s *suite) answerAs(ctx context.Context, q *request, kind, family string) (transcript.Record, *verdict.Miss) {
	rec, miss := s.Await(ctx, steps.Wait{Conn: q.of.name, After: q.mark, Kind: kind, Family: family, Fence: s.fence(q.of),
		Match: answers(q.id)})
	if miss != nil {
		miss.Reason, miss.At = s.instead(q, miss)
	}
	return rec, miss
}

// instead describes the message that came instead of an answer: an answer that names another request, or none, shows
// its author the cause.
func (s *suite) instead(q *request, miss *verdict.Miss) (string, int) {
	for _, r := range s.Between(q.of.name, q.mark, 0) {
		kind, to := kindOf(&r), field(&r, vocab.ReplyTo)
		if r.Dir == transcript.Received && to == q.id {
			return fmt.Sprintf("%q, which is no answer to %s: %s", kind, q.kind, steps.Seen(r)), r.N
		}
		if kind == model.AnswerOf[q.kind] || kind == vocab.ErrorMessage {
			if !slices.ContainsFunc(q.of.asked, func(o *request) bool { return o.id == to }) {
				named := ""
				if to != "" {
					named = ", an answer under another id"
				}
				return fmt.Sprintf("%s, whose replyTo is not %q%s: %s", kind, q.id, named, steps.Seen(r)), r.N
			}
		}
	}
	return fmt.Sprintf("no answer whose replyTo is %q: %s", q.id, miss.Reason), miss.At
}

// needAnswer waits for the answer of its own type to a request, without which a scenario cannot continue, and reports
// what it shows.
func (s *suite) needAnswer(ctx context.Context, q *request) (transcript.Record, error) {
	rec, miss := s.answer(ctx, q)
	if miss == nil && s.inactive(q, &rec) {
		return rec, steps.NotTestedf("no session is active for %s: none was started, and %s is refused rightly: %s",
			q.of.name, q.kind, steps.Seen(rec))
	}
	return rec, s.answered(q, rec, miss)
}

// recordOf returns the record of a request that was sent.
func (s *suite) recordOf(q *request) transcript.Record { return s.T.Page(max(q.mark, 1)-1, 1)[0] }

// answered reports what the answer to a request shows that must be one of its own type.
func (s *suite) answered(q *request, rec transcript.Record, miss *verdict.Miss) (err error) {
	if q.mark == 0 {
		return steps.NotTestedf("%s was not sent", q.kind)
	}
	for _, f := range s.model().Answer(s.recordOf(q), rec, miss) {
		if f = s.quote(f); kindOf(&rec) == model.AnswerOf[q.kind] {
			f.Group = kindOf(&rec) + " " + f.Clauses[0]
			_ = s.Judge(f)
		} else {
			err = s.Need(f)
		}
	}
	return err
}

// inactive reports whether a request was refused because no session is active, and rightly: its party has not joined,
// or none has started a session since the last one ended.
func (s *suite) inactive(q *request, rec *transcript.Record) bool {
	if q.kind == vocab.RelayJoin || !refused(rec) || s.codeOf(rec) != vocab.SessionNotActive {
		return false
	}
	joined, started, ended := false, 0, 0
	for _, p := range s.parties {
		for _, o := range p.asked {
			switch {
			case o.mark >= q.mark || p.session != q.of.session:
			case o.kind == vocab.RelayJoin && p == q.of && o.mark > p.opened && !s.wasRefused(o):
				joined = true
			case o.kind == vocab.SessionStart && !s.wasRefused(o):
				started = max(started, o.mark)
			case o.kind == vocab.SessionEnd && s.wentThrough(o):
				ended = max(ended, o.mark)
			}
		}
	}
	return !joined || q.kind != vocab.SessionStart && started <= ended
}

// codeOf returns the error code of an answer, either an error or a tool.result that is not ok, or "".
func (s *suite) codeOf(r *transcript.Record) string { return s.model().Code(r) }

// refused reports whether an answer is a refusal: an error, or a tool.result whose ok is false (EA-104).
func refused(r *transcript.Record) bool {
	return kindOf(r) == vocab.ErrorMessage || kindOf(r) == vocab.ToolResult && payload(r)[vocab.OK] == false
}

// got returns the answer that a request already has, or nil.
func (s *suite) got(q *request) *transcript.Record {
	for _, r := range s.Between(q.of.name, q.mark, 0) {
		if answers(q.id)(&r) {
			return &r
		}
	}
	return nil
}

// wasRefused reports whether a request has been refused.
func (s *suite) wasRefused(q *request) bool {
	r := s.got(q)
	return r != nil && refused(r)
}

// wentThrough reports whether a request has been answered without a refusal.
func (s *suite) wentThrough(q *request) bool {
	r := s.got(q)
	return r != nil && !refused(r)
}

// isRefused judges that the latest request of a party is refused with one of the codes.
func (s *suite) isRefused(ctx context.Context, p *party, codes ...string) error {
	q := p.last
	if q == nil {
		return steps.NotTestedf("agent %s has sent no request", p.name)
	}
	if q.mayPass != "" {
		rec, miss := s.refusalOf(ctx, q, codes)
		if miss == nil && (!refused(&rec) || !slices.Contains(codes, s.codeOf(&rec))) {
			return steps.NotTestedf("%s: it is answered by %s", q.mayPass, steps.Seen(rec))
		}
	}
	return s.judgeRefusal(ctx, q, codes...)
}

// judgeRefusal judges the answer to one request.
func (s *suite) judgeRefusal(ctx context.Context, q *request, codes ...string) error {
	rec, miss := s.refusalOf(ctx, q, codes)
	if miss != nil && miss.At > 0 {
		rec = s.T.Page(miss.At-1, 1)[0]
	}
	return s.refusal(model.Refusal{Request: s.recordOf(q), Codes: codes, ID: q.id}, rec, miss)
}

// refusal reports what the model finds in the answer to a request that has to be refused. Without an answer the
// scenario ends.
func (s *suite) refusal(d model.Refusal, rec transcript.Record, miss *verdict.Miss) error {
	found, excused := s.model().Refused(d, rec, miss)
	if excused != "" {
		return steps.NotTestedf("%s", excused)
	}
	return s.judgeOrNeed(miss != nil && !d.Invalid && !d.Early, found...)
}

// judgeOrNeed judges findings of the model; need says that the rest of the scenario depends on them.
func (s *suite) judgeOrNeed(need bool, found ...verdict.Finding) error {
	for _, f := range found {
		if f = s.quote(f); need {
			if err := s.Need(f); err != nil {
				return err
			}
		} else {
			_ = s.Judge(f)
		}
	}
	return nil
}

// fence returns a Wait.Fence for a party's connection: a snapshot.get, which a target that handles messages in order
// answers last. Behind a relay the played host answers it, so it covers both directions. It is not an act of the
// scenario.
func (s *suite) fence(p *party) func(context.Context) func(*transcript.Record) bool {
	return func(ctx context.Context) func(*transcript.Record) bool {
		q, ok := s.asksAside(ctx, p)
		if !ok {
			return nil
		}
		return answers(q.id)
	}
}

// fenceAtHost returns a Wait.Fence for what an agent has sent to the played host: a snapshot.get of the agent, as it
// arrives there.
func (s *suite) fenceAtHost(p *party) func(context.Context) func(*transcript.Record) bool {
	return func(ctx context.Context) func(*transcript.Record) bool {
		if q, ok := s.asksAside(ctx, p); ok {
			return func(r *transcript.Record) bool { return r.N > q.mark && received(vocab.SnapshotGet)(r) }
		}
		return nil
	}
}

// asksAside asks for a snapshot without changing the party's latest request.
func (s *suite) asksAside(ctx context.Context, p *party) (*request, bool) {
	if p.conn == nil || !p.joined || s.endedAt(p) > 0 {
		return nil, false
	}
	q := &request{of: p, id: s.idFor(p), kind: vocab.SnapshotGet, body: object{}}
	m, err := message(envelope(q.kind, q.id, "", q.body))
	if err != nil {
		return nil, false
	}
	if q.mark, err = p.conn.Send(ctx, m); err != nil || q.mark == 0 {
		return nil, false
	}
	p.asked = append(p.asked, q)
	return q, true
}
