package sessionruntime

import (
	"context"
	"strings"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/obligation"
	judge "parley/steps/sessionruntime/model"
)

func (s *suite) registerOutputs(sc *godog.ScenarioContext) {
	steps.Step(sc,
		`^agent "(\w)" sends (a chunk|the final|an empty final|a final without chunks|a chunk with odd values|`+
			`the final with odd values|long text|text that looks like JSON|text of odd characters|blanks) `+
			`of "(\w+)"( on BROADCAST)?$`, s.sends)
	steps.Step(sc, `^agent "(\w)" repeats its text in another chunk of "(\w+)"$`,
		func(ctx context.Context, letter, name string) error { return s.sends(ctx, letter, sameText, name, "") })
	steps.Step(sc, `^the frontend receives the output of "(\w+)"$`, s.forwarded)
	steps.Step(sc, `^the frontend does not receive the output of "(\w+)"$`, s.notForwarded)
	steps.Step(sc, `^agent "(\w)" ends "(\w+)"$`, s.ends)

	steps.Step(sc, `^the user (cancels|interrupts)( on BROADCAST)?$`, s.cancels)
	steps.Step(sc, `^agent "(\w)" is asked to stop "(\w+)"$`, s.askedToStop)
	steps.Step(sc, `^the agent of "(\w+)" or of "(\w+)" is asked to stop$`, s.oneToStop)
	steps.Step(sc, `^agent "(\w)" (confirms the cancel of|has stopped the stream of) "(\w+)"( on BROADCAST)?$`,
		s.confirmsCancel)
	steps.Step(sc, `^the frontend is told that "(\w+)" is cancelled$`, s.cancelled)
	steps.Step(sc,
		`^no (CANCEL|CANCELED|SWITCH_AGENT|REQUEST_REMOVE_AGENT|REQUEST_SESSION_CLOSE|AGENT_REMOVED|AGENT_ADDED|`+
			`HANDOVER_CONTEXT|USER_INPUT|AGENT_OUTPUT|ROUTE_TIMEOUT|REQUEST_ADD_AGENT|SESSION_CLOSED) is published$`, s.noneOf)
	steps.Step(sc, `^agent "(\w)" sends a chunk of "(\w+)" of session "(\w+)"$`, s.sendsOfAnother)
	steps.Step(sc, `^that output is not forwarded$`, s.nothingForwarded)
}

// registerTiming registers the steps about limits, which set sessions up themselves.
func (s *suite) registerTiming(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the limit for (confirming a cancel|acknowledging an input) expires$`, s.timeIsOver)
	steps.Step(sc,
		`^an input "(\w+)" that agent "(\w)" acknowledges within the limit(?:( on BROADCAST)|`+
			` after a switch to agent "(\w)")?$`,
		s.acknowledgedInTime)
	steps.Step(sc, `^an input "(\w+)" that agent "(\w)" does not acknowledge within a measurable limit$`,
		s.timesOutOnTime)
	steps.Step(sc, `^agent "(\w)" (confirms the cancel|sends a chunk) of "(\w+)" within the limit, and agent "(\w)" does `+
		`not acknowledge it$`, s.answeredInTime)
	steps.Step(sc, `^agent "(\w)" acknowledges the (input|mention) "(\w+)" of agent "(\w)" within the limit$`,
		s.acknowledgedByAnother)
	steps.Step(sc, `^agent "(\w)" sends a first chunk of "(\w+)" within the limit, and no acknowledgement$`, s.beganInTime)
	steps.Step(sc, `^agent "(\w)" confirms the cancel of "(\w+)" within the limit, after two requests$`,
		s.cancelledInTime)
}

// sameText is a chunk with the payload of the one before: only its id and its place in the stream differ.
const sameText = "the same text"

// sends sends AGENT_OUTPUT (4G).
func (s *suite) sends(ctx context.Context, letter, what, name, where string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	p := &piece{token: s.token()}
	if what == sameText {
		if in.last == nil {
			return steps.NotTestedf("%q has no output that could be repeated", name)
		}
		p.token = in.last.token
	}
	f := s.fromAgent(letter, in, vocab.AgentOutput, "", s.bind.output(pieceOf(what, p.token)), where)
	f.stream = &stream{chunk: true, seq: in.pieces}
	switch what {
	case "the final", "an empty final", "the final with odd values":
		f.stream = &stream{chunk: true, seq: in.pieces, final: true}
	case "a final without chunks":
		f.stream = &stream{final: true}
	}
	if what == "a chunk with odd values" || what == "the final with odd values" {
		f.payload = map[string]any{"text": "片段 \"" + p.token + "\"\n",
			"tool_calls": []any{map[string]any{"name": "x", "arguments": map[string]any{"n": 1.5, "none": nil}}},
			"empty":      []any{}, "": false}
		f.meta = map[string]any{"model": map[string]any{"name": "m", "temperature": 0.25}, "tags": []any{"a", "b"},
			"none": nil, "visibility": "internal"}
	}
	in.pieces++
	in.last = p
	if p.at, err = s.deliver(ctx, f); err == nil {
		p.final = f.stream.final
	}
	return err
}

// pieceOf returns an agent's output as text: the way models produce it, with a leading blank and a trailing newline,
// and in forms that are easily corrupted.
func pieceOf(what, token string) string {
	switch what {
	case "long text":
		return "piece " + token + "\n" +
			strings.Repeat("one line of many, and no two blanks in it are to become one:  here\n", 200)
	case "text that looks like JSON":
		return `{"text": "piece ` + token + `", "n": 1.0}`
	case "text of odd characters":
		return "piece " + token + "\tcafe\u0301 👩‍💻 <b>&amp;</b> \\n %s ${x} \"'`\r\n\u00a0"
	case "an empty final":
		return ""
	case "blanks":
		return "  \n" + token + "\n\n  "
	}
	return " piece " + token + ": “好”\n"
}

// sendsOfAnother sends output in the current session for a turn of another session.
func (s *suite) sendsOfAnother(ctx context.Context, letter, name, session string) error {
	of, there := s.sessions[session]
	if !there || of.inputs[name] == nil {
		return steps.NotTestedf("there is no input %q in session %q", name, session)
	}
	in := *of.inputs[name]
	for own, turn := range s.now.inputs {
		if in.turn != "" && turn.turn == in.turn {
			return steps.NotTestedf("%q has the same turn_id as %q of session %q, %s, so that its output belongs to both",
				own, name, session, in.turn)
		}
	}
	s.stray = &piece{token: s.token()}
	f := s.fromAgent(letter, &in, vocab.AgentOutput, "", s.bind.output(pieceOf("", s.stray.token)), "")
	f.stream = &stream{chunk: true}
	var err error
	s.stray.at, err = s.deliver(ctx, f)
	return err
}

func (s *suite) nothingForwarded(ctx context.Context) error {
	if s.stray == nil {
		return steps.NotTestedf("no output was sent")
	}
	return s.handled(ctx)
}

// ends sends the final and waits until it is forwarded.
func (s *suite) ends(ctx context.Context, letter, name string) error {
	return inOrder(
		func() error { return s.sends(ctx, letter, "the final", name, "") },
		func() error { return s.forwarded(ctx, name) },
	)
}

// forwarded waits until the latest output of a turn is forwarded.
func (s *suite) forwarded(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	if in.last == nil {
		return steps.NotTestedf("%q has no output", name)
	}
	if err := s.probe(ctx, in); err != nil {
		return err
	}
	_, err = s.settled(ctx, in.last.output())
	return err
}

func (p *piece) output() judge.Duty { return judge.Duty{Kinds: []judge.Kind{judge.Output}, Of: p.at} }

// probe finds out whether output that is not forwarded is being held back, in scenarios about that: the agent sends
// the rest.
func (s *suite) probe(ctx context.Context, in *input) error {
	p := in.last
	if !s.Judges("RT-150") || p.final {
		return nil
	}
	if err := s.fence(ctx); err != nil {
		return err
	}
	s.awaitOverdue(ctx)
	if state, _ := s.fate(p.output()); state != obligation.Missing {
		return nil
	}
	f := frame{event: vocab.AgentOutput, from: in.agent, trace: in.trace, turn: in.turn,
		payload: s.bind.output(pieceOf("", s.token())), stream: &stream{chunk: true, seq: in.pieces, final: true}}
	if _, err := s.deliver(ctx, f); err != nil {
		return err
	}
	return s.fence(ctx)
}

func (s *suite) notForwarded(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	if in.last == nil {
		return steps.NotTestedf("%q has no output", name)
	}
	return s.none(ctx, in.last.at, func() (judge.Message, bool) { return s.came(in.last.output()) })
}

// cancels sends CANCEL or INTERRUPT (4C).
func (s *suite) cancels(ctx context.Context, what, where string) error {
	f := frame{event: vocab.Control, subtype: vocab.Cancel, from: judge.Frontend, payload: map[string]any{}}
	if what == "interrupts" {
		f.subtype = vocab.Interrupt
	}
	if where != "" {
		f.target = vocab.ToBroadcast
	}
	at, err := s.deliver(ctx, f)
	for _, in := range s.now.inputs {
		in.stop = at
	}
	return err
}

// askedToStop waits for the CANCEL to the agent of a turn.
func (s *suite) askedToStop(ctx context.Context, letter, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	if in.routed == 0 {
		return steps.NotTestedf("there is no turn of %q", name)
	}
	in.stops, err = s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.CancelSent}, Since: in.routed, Turn: in.turn})
	return err
}

// oneToStop accepts a CANCEL for either of two turns that speak at once: the source does not say which is meant.
func (s *suite) oneToStop(ctx context.Context, one, other string) error {
	a, err := s.input(one)
	if err != nil {
		return err
	}
	if _, err := s.input(other); err != nil {
		return err
	}
	_, err = s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.CancelSent}, Of: a.stop})
	return err
}

// confirmsCancel sends CANCEL_ACK or STREAM_STOPPED.
func (s *suite) confirmsCancel(ctx context.Context, letter, how, name, where string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	event, subtype := vocab.Control, vocab.CancelAck
	if how == "has stopped the stream of" {
		event, subtype = vocab.Event, vocab.StreamStopped
	}
	f := s.fromAgent(letter, in, event, subtype, map[string]any{}, where)
	f.tx = in.stops.Tx
	in.ack, err = s.deliver(ctx, f)
	return err
}

func (s *suite) cancelled(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	if in.ack == 0 {
		return steps.NotTestedf("no cancel of %q was confirmed", name)
	}
	_, err = s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Canceled}, Since: in.routed, Turn: in.turn})
	return err
}

// noneOf proves that nothing of a kind was published after the latest act.
func (s *suite) noneOf(ctx context.Context, name string) error {
	return s.none(ctx, s.mark, func() (judge.Message, bool) {
		return s.find(s.mark, func(m judge.Message) bool {
			kind, _, _ := strings.Cut(string(m.Kind()), " to ") // an agent, or the frontend
			return kind == name
		})
	})
}
