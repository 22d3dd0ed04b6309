package externalagent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// connects is the act that hooks.call asks for first. The others are types of messages.
const connects = "connect"

// driven returns the called agent if hooks.call asks it to act; else nil.
func (s *suite) driven() target.Driven {
	if s.Env.Profile.Hooks.Call == "" || s.agent.called == nil {
		return nil
	}
	d, _ := s.agent.called.(target.Driven)
	return d
}

// Remarks around a run of hooks.call.
const (
	asking = "hooks.call asks the agent for "
	asked  = "hooks.call has ended: "
)

// asks asks the agent for an act by hooks.call. An error is of the hook; the scenario can then say no more.
func (s *suite) asks(ctx context.Context, d target.Driven, act string) error {
	s.T.Remark("", "%s%s", asking, act)
	err := d.Ask(ctx, target.AskOptions{Act: act, Scenario: s.title, Person: s.Env.Person})
	if err != nil {
		err = fmt.Errorf("the agent could not be asked for %s: %w", act, err)
		s.T.Remark("", "%s%v", asked, err)
		return err
	}
	s.T.Remark("", "%s%s", asked, endedWell)
	return nil
}

// awaitDriven is awaitAgentOr for an agent that acts when it is asked. Once nothing has been exchanged with it for the
// quiet window, it is asked for what the scenario needs, and asked again only after it has acted. While the host is
// busy, such as with a message that it holds back, nothing is asked; whether the agent may act already is for the agent
// to decide. The limit does not run while the hook does.
func (s *suite) awaitDriven(
	ctx context.Context, d target.Driven, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	w := waiting{s: s, after: after, match: match, act: s.needed()}
	left := deadline.In(within.Duration)
	for {
		rec, found := w.await(ctx, min(s.Env.Profile.Limits.Quiet.Duration, max(left.Left(), 1)))
		gone := s.gone()
		switch {
		case found:
			return rec, nil
		case ctx.Err() != nil:
			s.CutOff()
			return rec, &verdict.Miss{Reason: "the scenario was cut off"}
		case w.acted:
			w.acted, left = false, deadline.In(within.Duration)
		case gone != "":
			return rec, &verdict.Miss{Reason: gone}
		case s.agent.askedAt < s.actedAt() && s.mayBeAsked():
			rec, found, err := w.during(ctx, func() error { return s.asks(ctx, d, w.act) })
			switch {
			case found:
				return rec, nil
			case err != nil && ctx.Err() == nil:
				s.CutOffBy(err.Error())
				return rec, &verdict.Miss{Reason: err.Error()}
			}
			left = deadline.In(within.Duration)
		case left.Over():
			return rec, &verdict.Miss{Reason: within.passed(), Late: true}
		}
	}
}

// needed returns the act that the present step waits for.
func (s *suite) needed() string {
	if s.agent.needs != "" {
		return s.agent.needs
	}
	return vocab.ToolCall
}

// actedAt returns the record of the agent's latest message, or 0.
func (s *suite) actedAt() (n int) {
	for _, r := range s.T.After(s.agent.started) {
		if fromAgent(&r) && r.Kind == transcript.Frame {
			n = r.N
		}
	}
	return n
}

// mayBeAsked reports whether the agent has joined on a connection that stands, has an answer to each of its calls, and
// the host has nothing to send.
func (s *suite) mayBeAsked() bool {
	p := s.agent.play
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	conn, open := "", map[string]bool{}
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case conn == r.Conn && (r.Kind == transcript.Closed || r.Kind == transcript.Failure):
			conn = ""
		case sent(vocab.RelayJoined)(&r):
			conn, open = r.Conn, map[string]bool{}
		case fromAgent(&r) && received(vocab.ToolCall)(&r):
			open[field(&r, vocab.ID)] = true
		case sent(vocab.ToolResult, vocab.ErrorMessage)(&r):
			delete(open, field(&r, vocab.ReplyTo))
		}
	}
	return p.joined && conn != "" && len(open) == 0
}

// waiting is a wait for a record, in several parts.
type waiting struct {
	s     *suite
	after int
	match func(*transcript.Record) bool // sees each record once
	act   string
	acted bool // something was exchanged with the agent in the latest part
}

// await waits for the record until nothing has happened for a while. An act of either party ends it, too.
func (w *waiting) await(ctx context.Context, quiet time.Duration) (transcript.Record, bool) {
	limited, cancel := deadline.WithLimit(ctx, quiet)
	defer cancel()
	matched := false
	rec, err := w.s.T.Await(limited, w.after, func(r *transcript.Record) bool {
		w.after, matched = r.N, w.match(r)
		return matched || strings.HasPrefix(r.Conn, model.AgentParty) || strings.HasPrefix(r.Label, model.Exited)
	})
	w.acted = w.acted || err == nil && !matched
	return rec, matched
}

// during waits for the record while do asks for it, and returns once do has.
func (w *waiting) during(ctx context.Context, do func() error) (transcript.Record, bool, error) {
	w.s.agent.askedAt = w.s.T.Len()
	over := make(chan error, 1)
	go func() { over <- do() }()
	matched := false
	rec, _ := w.s.T.Await(ctx, w.after, func(r *transcript.Record) bool {
		w.after, matched = r.N, w.match(r)
		return matched || strings.HasPrefix(r.Label, asked)
	})
	err := <-over // ends with ctx
	if matched && err != nil {
		w.s.Note("%v, but it acts", err)
	}
	return rec, matched, err
}

// faults corrupt a valid envelope.
var faults = map[string]func(object){
	"no v":                  func(e object) { delete(e, vocab.V) },
	"v of an older version": func(e object) { e[vocab.V] = "mvp-0.1" },
	"v of a newer version":  func(e object) { e[vocab.V] = "mvp-0.3" },
	"v in capitals":         func(e object) { e[vocab.V] = "MVP-0.2" },
	"v that is a number":    func(e object) { e[vocab.V] = 0.2 },
	"v that is null":        func(e object) { e[vocab.V] = nil },
	"v under another name":  func(e object) { e["V"] = e[vocab.V]; delete(e, vocab.V) },

	"no type":                  func(e object) { delete(e, vocab.Type) },
	"an unknown type":          func(e object) { e[vocab.Type] = "parley.unknown" },
	"an empty type":            func(e object) { e[vocab.Type] = "" },
	"type that is a number":    func(e object) { e[vocab.Type] = 7 },
	"type that is null":        func(e object) { e[vocab.Type] = nil },
	"type that is a list":      func(e object) { e[vocab.Type] = []any{e[vocab.Type]} },
	"type in capitals":         func(e object) { e[vocab.Type] = strings.ToUpper(e[vocab.Type].(string)) },
	"a type that hosts send":   func(e object) { e[vocab.Type] = vocab.StateUpdated },
	"no payload":               func(e object) { delete(e, vocab.Payload) },
	"payload that is null":     func(e object) { e[vocab.Payload] = nil },
	"payload that is a list":   func(e object) { e[vocab.Payload] = []any{} },
	"payload that is a text":   func(e object) { e[vocab.Payload] = "{}" },
	"payload that is a number": func(e object) { e[vocab.Payload] = 1 },
	"payload that is true":     func(e object) { e[vocab.Payload] = true },

	"no id":                  func(e object) { delete(e, vocab.ID) },
	"id that is a number":    func(e object) { e[vocab.ID] = 17 },
	"id that is null":        func(e object) { e[vocab.ID] = nil },
	"replyTo that is a list": func(e object) { e[vocab.ReplyTo] = []any{} },
	"extra members": func(e object) {
		e["parleyExtra"] = object{"a": []any{1, nil}}
		e["timestamp"] = "2026-01-01T00:00:00Z"
	},
	"an extra member in its payload": func(e object) {
		if p, ok := e[vocab.Payload].(object); ok {
			p["parleyExtra"] = "x"
		}
	},
	"a deeply nested member": func(e object) {
		v := any("bottom")
		for range 200 {
			v = []any{v}
		}
		e["parleyExtra"] = v
	},
	"a member of 200 KB": func(e object) { e["parleyExtra"] = strings.Repeat("x", 200<<10) },
	"no role":            func(e object) { delete(e[vocab.Payload].(object), vocab.Role) },
	"an unknown role":    func(e object) { e[vocab.Payload].(object)[vocab.Role] = "parley" },
	"no sessionId":       func(e object) { delete(e[vocab.Payload].(object), vocab.SessionID) },
	"a sessionId that is a number": func(e object) {
		e[vocab.Payload].(object)[vocab.SessionID] = 1
	},
	"no toolName": func(e object) { delete(e[vocab.Payload].(object), vocab.ToolName) },
	"a toolName that is a number": func(e object) {
		e[vocab.Payload].(object)[vocab.ToolName] = 1
	},
	"no reason":           func(e object) { delete(e[vocab.Payload].(object), "reason") },
	"members given twice": nil, // see spoilt
	"a binary frame":      nil,
}

// sendsSpoilt sends an envelope of a kind with a fault.
func (s *suite) sendsSpoilt(ctx context.Context, p *party, kind, fault string) error {
	spoil, known := faults[fault]
	if !known {
		return fmt.Errorf("no step makes an envelope with %q", fault)
	}
	body := object{}
	switch kind {
	case vocab.RelayJoin:
		if err := s.hostIsThere(ctx, p); err != nil {
			return err
		}
		body = object{"role": p.role, vocab.SessionID: p.session}
	case vocab.ToolCall:
		body = callOf(noSuchTool, object{})
	}
	q := &request{of: p, id: s.newID(), kind: kind, body: body}
	env := envelope(kind, q.id, "", body)
	if spoil != nil {
		spoil(env)
	}
	if id, ok := env[vocab.ID].(string); !ok || id != q.id {
		q.id = ""
	}
	_, typed := env[vocab.Type].(string)
	q.untyped = !typed
	m, err := message(env)
	if err != nil {
		return err
	}
	m.Label = kind + " with " + fault
	switch fault {
	case "a binary frame":
		m.Binary = true
	case "members given twice":
		m.Body = []byte(strings.Replace(string(m.Body), `{`, `{"v":"mvp-0.1","type":"parley.unknown",`, 1))
	}
	return s.sendRaw(ctx, p, q, m)
}

func (s *suite) sendRaw(ctx context.Context, p *party, q *request, m driver.Message) error {
	if err := s.connected(ctx, p); err != nil {
		return err
	}
	mark, err := p.conn.Send(ctx, m)
	if err != nil {
		return steps.NotTestedf("agent %s could not send it: %v", p.name, err)
	}
	q.mark, p.last, s.mark = mark, q, mark
	p.asked = append(p.asked, q)
	return nil
}

func (s *suite) sendsJunk(ctx context.Context, p *party, what string) error {
	id := s.newID()
	legal := string(mustEncode(envelope(vocab.SnapshotGet, id, "", object{})))
	body, known := map[string]string{"malformed JSON": "{" + legal, "a JSON array": "[" + legal + "]",
		"two JSON values": legal + legal, "half an envelope": legal[:len(legal)/2]}[what]
	if !known {
		body = noEnvelopes[what]
	}
	return s.sendRaw(ctx, p, &request{of: p, id: id, kind: what}, driver.Message{Label: what, Body: []byte(body)})
}

// noEnvelopes are texts that are not envelopes, by the words of features.
var noEnvelopes = map[string]string{
	"malformed JSON": `{"v":"mvp-0.2","type":`, "an empty text": "", "a JSON array": `[{"v":"mvp-0.2"}]`,
	"a JSON string": `"snapshot.get"`, "a JSON number": "42", "a JSON null": "null",
}

func mustEncode(v any) []byte {
	b, err := wjson.Encode(v)
	if err != nil {
		panic(err) // our own envelope always encodes
	}
	return b
}
