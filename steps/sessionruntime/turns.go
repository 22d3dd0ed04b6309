package sessionruntime

import (
	"context"
	"fmt"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	judge "parley/steps/sessionruntime/model"
)

func (s *suite) registerTurns(sc *godog.ScenarioContext) {
	steps.Step(sc,
		`^the user says "(\w+)"(?: with (a structured payload|ids of its own|a turn_id of its own|a trace_id of its own|`+
			`metadata of its own|deep and odd values|blanks around its text|decomposed letters in its ids))?( on BROADCAST)?$`,
		s.says)
	steps.Step(sc, `^the user says "(\w+)" with the text of "(\w+)"$`, s.saysAgain)
	steps.Step(sc, `^an input "(\w+)" that was never sent$`, func(name string) {
		s.now.inputs[name] = &input{token: s.token()}
	})
	steps.Step(sc, `^the user picks "(\w+)" in the interface$`, func(ctx context.Context, name string) error {
		return s.says(ctx, name, "a choice", "")
	})
	steps.Step(sc, `^the user mentions agent "(\w)" in "(\w+)" by (its subtype|its payload|a choice in the interface)$`,
		s.mentions)
	steps.Step(sc, `^the user says "(\w+)" with @ and the name of agent "(\w)" only in the text$`, s.names)
	steps.Step(sc, `^the agent that gets "(\w+)" answers it$`, s.answeredByWhoever)
	steps.Step(sc,
		`^(the output of |the acknowledgement of |the confirmation of )?"(\w+)" is delivered by a second subscription$`,
		s.deliveredTwice)

	steps.Step(sc, `^"(\w+)" reaches agent "(\w)"$`, func(ctx context.Context, name, letter string) error {
		return s.reaches(ctx, name, letter)
	})
	steps.Step(sc, `^"(\w+)" reaches an agent, or SessionManager is asked for one$`, s.reachesSomebody)
	steps.Step(sc, `^"(\w+)" is accepted$`, s.accepted)
	steps.Step(sc, `^"(\w+)" reaches no agent$`, s.reachesNobody)
	steps.Step(sc, `^the (\d+) turns have different turn_ids$`, s.turnsDiffer)
	steps.Step(sc, `^agent "(\w)" acknowledges "(\w+)"( on BROADCAST)?$`, s.acknowledges)
	steps.Step(sc, `^"(\w+)" runs at agent "(\w)"$`, s.runs)
	steps.Step(sc, `^agent "(\w)" is speaking in "(\w+)"$`, s.isSpeaking)
	steps.Step(sc, `^the frontend is told that "(\w+)" has timed out$`, s.timesOut)
	steps.Step(sc, `^the frontend is told that "(\w+)" and "(\w+)" have timed out, each by its turn_id$`,
		func(ctx context.Context, one, other string) error { // RT-052, RT-053
			return inOrder(func() error { return s.timesOut(ctx, one) }, func() error { return s.timesOut(ctx, other) })
		})
	steps.Step(sc, `^every input without an acknowledgement has timed out$`, s.unansweredTimeOut)
	steps.Step(sc, `^agent "(\w)" reports an error in "(\w+)"( on BROADCAST)?$`, s.reportsError)
	steps.Step(sc, `^SessionManager reports an error$`, s.managerError)
	steps.Step(sc, `^the frontend is told of the error$`, s.hearsOfError)
	steps.Step(sc, `^SessionManager is asked for agent "(\w)", or the frontend is told of an error$`, s.absentDealtWith)
}

// input is one user input, under the name that the scenario gives it, and its turn.
type input struct {
	token   string
	said    int // number of the record
	payload any
	agent   string
	turn    string
	trace   string
	routed  int
	acked   int
	pieces  int
	last    *piece // of output
	stop    int    // number of the last cancel by the user
	stops   judge.Message
	ack     int // of the cancel
}

// piece is one output of an agent.
type piece struct {
	token string
	at    int
	final bool
}

func (s *suite) input(name string) (*input, error) {
	in, ok := s.now.inputs[name]
	if !ok {
		return nil, steps.NotTestedf("there is no input %q", name)
	}
	if m, ok := s.came(in.route()); in.routed == 0 && ok { // it may have been routed meanwhile
		in.take(m)
	}
	return in, nil
}

func (in *input) route() judge.Duty { return judge.Duty{Kinds: []judge.Kind{judge.Route}, Of: in.said} }

// find returns the last matching message of the current session that was published after a record.
func (s *suite) find(after int, match func(judge.Message) bool) (found judge.Message, ok bool) {
	for _, r := range s.Between(bus, after, 0) {
		if m, is := judge.Read(r); is && s.belongs(m, s.now) && match(m) {
			found, ok = m, true
		}
	}
	return found, ok
}

// token returns a mark for a payload, by which it is recognised wherever it is forwarded.
func (s *suite) token() string { return fmt.Sprintf("#%d-%s", s.Serial(), s.Nonce) }

// says sends a plain input (4A).
func (s *suite) says(ctx context.Context, name, how, where string) error {
	in := &input{token: s.token()}
	f := frame{event: vocab.UserInput, from: judge.Frontend, target: onBroadcast(where),
		payload: "what about " + in.token + "?"}
	switch how {
	case "a structured payload":
		f.payload = map[string]any{"text": "what about " + in.token + "?",
			"attachments": []any{map[string]any{"kind": "image", "size": 3}}, "empty": map[string]any{}, "none": nil}
	case "a choice":
		f.payload = map[string]any{"type": "selection", "value": in.token, "options": []any{"one", "two"}}
	case "deep and odd values":
		f.payload = map[string]any{"text": in.token, "中文": "引号\"与\\反斜杠\n", "n": 1.5, "big": 9007199254740991,
			"list": []any{nil, true, []any{[]any{}}}, "": "an empty name", "payload": map[string]any{"event": "CONTROL"}}
	case "blanks around its text":
		f.payload = " \n\t" + in.token + ", please\u00a0\n "
	case "decomposed letters in its ids":
		f.turn, f.trace = "tour-ne\u0301-"+in.token[1:], "trace-\u1109\u1161-"+in.token[1:]
	case "ids of its own", "a turn_id of its own":
		f.turn = "turn-" + in.token[1:]
	case "metadata of its own":
		f.meta = map[string]any{"client": map[string]any{"page": "/chat", "version": 3}, "locale": "zh-CN"}
	}
	if how == "ids of its own" || how == "a trace_id of its own" {
		f.trace = "trace-" + in.token[1:]
	}
	return s.say(ctx, name, in, f)
}

// saysAgain sends another input with the text of an earlier one: only its id differs.
func (s *suite) saysAgain(ctx context.Context, name, earlier string) error {
	was, err := s.input(earlier)
	if err != nil {
		return err
	}
	return s.say(ctx, name, &input{token: was.token},
		frame{event: vocab.UserInput, from: judge.Frontend, payload: was.payload})
}

func (s *suite) say(ctx context.Context, name string, in *input, f frame) (err error) {
	s.now.inputs[name], in.payload = in, f.payload
	in.said, err = s.deliver(ctx, f)
	return err
}

// answeredByWhoever ends a turn whose agent the source does not determine. The input may have been refused.
func (s *suite) answeredByWhoever(ctx context.Context, name string) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	in, err := s.input(name)
	if err != nil || in.routed == 0 {
		return err
	}
	f := s.fromAgent("", in, vocab.Control, vocab.InputAck, map[string]any{}, "")
	f.from = in.agent
	if _, err := s.deliver(ctx, f); err != nil {
		return err
	}
	f = s.fromAgent("", in, vocab.AgentOutput, "", s.bind.output(pieceOf("", s.token())), "")
	f.from, f.stream = in.agent, &stream{final: true}
	if _, err := s.deliver(ctx, f); err != nil {
		return err
	}
	return s.fence(ctx)
}

// deliveredTwice redelivers a message of a turn as a second subscription would: the input itself, or its agent's last
// message.
func (s *suite) deliveredTwice(ctx context.Context, what, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	switch what {
	case "the output of ":
		return s.again(ctx, in.last.at)
	case "the acknowledgement of ":
		return s.again(ctx, in.acked)
	case "the confirmation of ":
		return s.again(ctx, in.ack)
	}
	return s.again(ctx, in.said)
}

// reaches waits until an input goes to an agent (RT-075, RT-092).
func (s *suite) reaches(ctx context.Context, name, letter string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	m, err := s.settled(ctx, in.route())
	if m.N > 0 {
		in.take(m)
		s.RecordReach(steps.Answered)
	}
	if err == nil && m.TargetID != s.agent(letter) {
		return steps.NotTestedf("the input goes to agent %q, which the source permits here", m.TargetID)
	}
	return err
}

func (in *input) take(m judge.Message) {
	in.agent, in.turn, in.trace, in.routed = m.TargetID, m.Turn, m.Trace, m.N
}

// reachesSomebody waits until an input that comes while no agent is active is dealt with (RT-070).
func (s *suite) reachesSomebody(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	_, err = s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Route, judge.RequestAdd}, Of: in.said})
	return err
}

// turnsDiffer makes sure that so many turns were routed: the model judges their turn_ids (RT-052, RT-072).
func (s *suite) turnsDiffer(ctx context.Context, turns int) error {
	if err := s.handled(ctx); err != nil {
		return err
	}
	routed := 0
	for name := range s.now.inputs {
		if in, _ := s.input(name); in.routed > 0 {
			routed++
		}
	}
	if routed < turns {
		return steps.NotTestedf("only %d inputs were routed", routed)
	}
	return nil
}

// reachesNobody proves that an input is not routed.
func (s *suite) reachesNobody(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	return s.none(ctx, in.said, func() (judge.Message, bool) { return s.came(in.route()) })
}

// acknowledges sends INPUT_ACK. For an input that was never routed it names an unknown turn.
func (s *suite) acknowledges(ctx context.Context, letter, name, where string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	at, err := s.deliver(ctx, s.fromAgent(letter, in, vocab.Control, vocab.InputAck, map[string]any{}, where))
	if in.acked == 0 {
		in.acked = at
	}
	return err
}

// fromAgent returns an agent's message about a turn.
func (s *suite) fromAgent(letter string, in *input, event, subtype string, payload any, where string) frame {
	f := frame{event: event, subtype: subtype, from: s.agent(letter), trace: in.trace, turn: in.turn, payload: payload}
	if f.turn == "" {
		f.turn, f.trace = "no-turn-"+in.token[1:], "no-trace-"+in.token[1:]
	}
	if where != "" {
		f.target = vocab.ToBroadcast
	}
	return f
}

// runs makes an input be routed and acknowledged by its agent.
func (s *suite) runs(ctx context.Context, name, letter string) error {
	return inOrder(
		func() error { return s.reaches(ctx, name, letter) },
		func() error { return s.accepted(ctx, name) },
		func() error { return s.acknowledges(ctx, letter, name, "") },
	)
}

// isSpeaking makes a turn run until the frontend has received its first chunk.
func (s *suite) isSpeaking(ctx context.Context, letter, name string) error {
	if _, said := s.now.inputs[name]; !said {
		if err := s.says(ctx, name, "", ""); err != nil {
			return err
		}
	}
	return inOrder(
		func() error { return s.runs(ctx, name, letter) },
		func() error { return s.sends(ctx, letter, "a chunk", name, "") },
		func() error { return s.forwarded(ctx, name) },
	)
}

// timesOut waits for ROUTE_TIMEOUT for a turn that was not acknowledged (RT-078).
func (s *suite) timesOut(ctx context.Context, name string) error {
	in, err := s.input(name)
	switch {
	case err != nil:
		return err
	case in.routed == 0:
		return steps.NotTestedf("there is no turn of %q", name)
	}
	_, err = s.settledWithin(ctx, in.timeOut(), s.withLimit(s.limits.InputAck))
	return err
}

func (in *input) timeOut() judge.Duty {
	return judge.Duty{Kinds: []judge.Kind{judge.RouteTimeout}, Of: in.routed}
}

// reportsError sends an agent's ERROR (1.2).
func (s *suite) reportsError(ctx context.Context, letter, name, where string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	return s.sendError(ctx, s.fromAgent(letter, in, vocab.Error, "MODEL_ERROR", nil, where))
}

func (s *suite) managerError(ctx context.Context) error {
	return s.sendError(ctx, frame{event: vocab.Error, subtype: "STORE_ERROR", from: judge.Manager})
}

func (s *suite) sendError(ctx context.Context, f frame) (err error) {
	token := s.token()
	f.payload = map[string]any{"code": f.subtype, "message": "failed " + token, "text": "failed " + token}
	s.now.errorAt, err = s.deliver(ctx, f)
	return err
}

// hearsOfError waits until the error is forwarded to the frontend (RT-011).
func (s *suite) hearsOfError(ctx context.Context) error {
	_, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Failure}, Of: s.now.errorAt})
	return err
}
