// Package externalagent has the steps of the external-agent features: what hosts, agents and relays do and observe,
// in the protocol's terms. The target's role decides which of them the harness plays.
package externalagent

import (
	"context"
	"fmt"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/steps/toolschema"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// callsAtNull goes through the booking and makes a call wherever a state has a null uiSpec, even briefly. Such a call
// must be refused (EA-082).
func (s *suite) callsAtNull(ctx context.Context, p *party) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	tried := 0
	now, err := s.nullsSince(ctx, p, s.model().Since(p.name), &tried)
	for i, c := range path {
		if err != nil {
			return err
		}
		var q *request
		if q, err = s.stepOf(ctx, p, c, now, i == len(path)-1); err != nil {
			break
		}
		if _, err = s.wentWell(ctx, q); err != nil {
			break
		}
		if _, err = s.nullsSince(ctx, p, q.mark, &tried); err != nil {
			break
		}
		now, err = s.settle(ctx, q, q.before)
	}
	switch {
	case err != nil:
		return err
	case tried == 0:
		return &steps.NotApplicableError{Reason: "uiSpec is never null during the booking, except where the tools that are " +
			"called are announced"}
	}
	return nil
}

// nullsSince waits for the first state after a mark. While no state with a uiSpec has come, it makes calls: a
// message, which all stages may have, and the latest call of the booking, or its first. It returns the final state.
func (s *suite) nullsSince(ctx context.Context, p *party, mark int, tried *int) (state, error) {
	quiet := s.Env.Profile.Limits.Quiet.Duration
	if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: mark, Within: quiet, Kind: "a state at once",
		Match: received(vocab.StateUpdated)}); miss != nil {
		if _, err := s.snapshot(ctx, p); err != nil {
			return state{}, err
		}
	}
	path := s.path()
	for _, tool := range []string{vocab.PostMessage, path[0].Tool} {
		last := s.model().LastTold(p.name)
		if last.N == 0 || last.UI != nil {
			break
		}
		params := object{"text": "parley"}
		if tool != vocab.PostMessage {
			params = s.paramsAnyhow(path[0], p)
		}
		q, err := s.call(ctx, p, tool, params)
		if err != nil {
			return state{}, err
		}
		_, miss := s.answer(ctx, q)
		announced, crossed := s.model().AtNull(s.recordOf(q))
		if miss == nil && crossed {
			s.Note("a call in the state of record %d, which had no uiSpec, crossed a state that has one", last.N)
			if s.wentThrough(q) && tool != vocab.PostMessage {
				return state{}, steps.NotTestedf("%s was carried out in a state that crossed the call: the booking is no longer "+
					"where it was", tool)
			}
			break
		}
		if announced && s.wentThrough(q) {
			s.Note("%s is not judged: the state of record %d has no uiSpec, and announces it", tool, last.N)
			if tool != vocab.PostMessage {
				return state{}, steps.NotTestedf("%s, which is announced while no uiSpec is active, was carried out: the booking "+
					"is no longer where it was", tool)
			}
			continue
		}
		*tried++
		if err := s.judgeRefusal(ctx, q, vocab.NoActiveSpec); err != nil {
			return state{}, err
		}
		if s.wentThrough(q) {
			return state{}, steps.NotTestedf("a call was carried out while no uiSpec was active: the booking is no longer " +
				"where it was")
		}
	}
	return s.snapshot(ctx, p)
}

func told(r *transcript.Record) bool { return received(vocab.StateUpdated, vocab.SnapshotState)(r) }

// otherwise is a tool of a stage with params other than those of the booking.
type otherwise struct {
	done   int // number of booking calls that lead to the stage
	tool   string
	usual  object // params with the booking's values
	params object
}

// manyOthers limits the calls with other values.
const manyOthers = 40

// callsOtherwise calls the tools of every stage with other legal values than those of the booking, each after a call
// with these, and judges the state after each: an update may be forgotten in one branch of a tool. The target may
// refuse such a call, since a schema need not say everything; nothing is judged then.
func (s *suite) callsOtherwise(ctx context.Context, p *party) error {
	list, err := s.otherCalls(ctx, p)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return steps.NotTestedf("no tool of the booking is announced with another value that its schema allows")
	}
	went := 0
	for i, one := range list {
		if i == 0 || list[i-1].done != one.done {
			if _, err := s.goTo(ctx, p, one.done); err != nil {
				return err
			}
		}
		if _, err := s.callsWith(ctx, p, one.tool, one.usual); err != nil {
			return err
		}
		ok, err := s.callsWith(ctx, p, one.tool, one.params)
		if err != nil {
			return err
		}
		if ok {
			went++
		}
	}
	if went == 0 {
		return steps.NotTestedf("all %d calls with other values were refused", len(list))
	}
	return nil
}

// otherCalls goes through the booking and returns the calls to make where, each once.
func (s *suite) otherCalls(ctx context.Context, p *party) (out []otherwise, err error) {
	seen := map[string]bool{}
	err = s.eachStage(ctx, p, func(done int, now state, announced toolschema.Tools) (bool, error) {
		for i := range announced {
			t := &announced[i]
			known := s.known(t.Name, now.UI)
			usual, _ := t.Example(known)
			for _, params := range t.Others(known) {
				key := wjson.Compact([]any{t.Name, params})
				if !seen[key] && len(seen) < manyOthers {
					seen[key] = true
					out = append(out, otherwise{done, t.Name, usual, params})
				}
			}
		}
		return false, nil
	})
	return out, err
}

// callsWith makes a call if the tool is still announced so, and judges the state after it. ok reports whether it
// succeeded.
func (s *suite) callsWith(ctx context.Context, p *party, tool string, params object) (ok bool, err error) {
	_, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return false, err
	}
	if t := announced.Find(tool); t == nil || t.Accepts(params) != nil {
		return false, nil // a call before it has led elsewhere
	}
	q, err := s.call(ctx, p, tool, params)
	if err != nil {
		return false, err
	}
	rec, miss := s.answer(ctx, q)
	if miss != nil {
		return false, s.judgeOrNeed(true, s.model().Accepted(s.recordOf(q), rec, false, miss)...)
	}
	if refused(&rec) || payload(&rec)[vocab.OK] != true {
		return false, nil
	}
	s.notesQuick(&rec, tool)
	after, err := s.stepped(ctx, p)
	if err != nil {
		return false, err
	}
	return true, s.agrees(&rec, after)
}

// object is a decoded JSON object, or one to be encoded.
type object = map[string]any

// decode fills a record's Event with the envelope: its Type, its payload as Data, and its id as RequestID. A frame
// that is not a JSON object has no Event.
func decode(r *transcript.Record) {
	if r.Kind != transcript.Frame {
		return
	}
	v, faults, err := wjson.Decode(r.Bytes)
	if err != nil {
		return
	}
	env, ok := v.(object)
	if !ok {
		return
	}
	ev := &transcript.Event{Data: env[vocab.Payload], RequestID: env[vocab.ID], Envelope: env}
	ev.Type, _ = env[vocab.Type].(string)
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	r.Event = ev
	if r.Label == "" {
		r.Label = ev.Type
	}
}

// envelope makes an envelope; an empty id or replyTo is omitted.
func envelope(kind, id, replyTo string, payload any) object {
	e := object{"v": vocab.Version, "type": kind, vocab.Payload: payload}
	if id != "" {
		e[vocab.ID] = id
	}
	if replyTo != "" {
		e[vocab.ReplyTo] = replyTo
	}
	return e
}

// message encodes an envelope, or its replacement.
func message(v any) (driver.Message, error) {
	b, err := wjson.Encode(v)
	if err != nil {
		return driver.Message{}, fmt.Errorf("encode an envelope: %w", err)
	}
	label := ""
	if env, ok := v.(object); ok {
		label, _ = env[vocab.Type].(string)
	}
	return driver.Message{Label: label, Body: b}, nil
}

// kindOf returns the type of a received or sent envelope, or "".
func kindOf(r *transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	return r.Event.Type
}

// field returns a string member of a record's envelope, or "".
func field(r *transcript.Record, name string) string {
	if r.Event == nil {
		return ""
	}
	env, _ := r.Event.Envelope.(object)
	s, _ := env[name].(string)
	return s
}

// payload returns the payload of a record's envelope, or nil if it is not an object.
func payload(r *transcript.Record) object {
	if r.Event == nil {
		return nil
	}
	p, _ := r.Event.Data.(object)
	return p
}

// received matches an envelope of one of the types sent by the target.
func received(kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && r.Event != nil && slices.Contains(kinds, r.Event.Type)
	}
}

// sent matches an envelope of one of the types sent by the harness.
func sent(kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent && r.Event != nil && slices.Contains(kinds, r.Event.Type)
	}
}

// answers matches the answer to a request: an envelope of a type that answers requests, with its id. What else names
// the id, such as the progress of a call or the state that it has led to, comes beside the answer.
func answers(id string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && id != "" && field(r, vocab.ReplyTo) == id &&
			(kindOf(r) == vocab.ErrorMessage || model.IsAnswer(kindOf(r)))
	}
}
