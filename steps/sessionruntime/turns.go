package sessionruntime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	judge "parley/steps/sessionruntime/model"
)

func (s *suite) registerTurns(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the user says "(\w+)"$`, func(ctx context.Context, name string) error {
		return s.says(ctx, name, "")
	})
	steps.Step(sc,
		`^the user says "(\w+)" with (a structured payload|ids of its own|a turn_id of its own|a trace_id of its own|`+
			`metadata of its own|deep and odd values|blanks around its text|decomposed letters in its ids)$`, s.says)
	steps.Step(sc, `^the user says "(\w+)" with the text of "(\w+)"$`, s.saysAgain)
	steps.Step(sc, `^an input "(\w+)" that was never sent$`, func(name string) {
		s.now.inputs[name] = &input{token: s.token()}
	})
	steps.Step(sc, `^the user picks "(\w+)" in the interface$`, func(ctx context.Context, name string) error {
		return s.says(ctx, name, "a choice")
	})
	steps.Step(sc, `^the user says "(\w+)" on BROADCAST$`, func(ctx context.Context, name string) error {
		return s.says(ctx, name, "BROADCAST")
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
	steps.Step(sc, `^the frontend is told that "(\w+)" and "(\w+)" have timed out, each by its turn_id$`, s.timedOutWith)
	steps.Step(sc, `^every input without an acknowledgement has timed out$`, s.unansweredTimeOut)
	steps.Step(sc, `^agent "(\w)" reports an error in "(\w+)"( on BROADCAST)?$`, s.reportsError)
	steps.Step(sc, `^SessionManager reports an error$`, s.managerError)
	steps.Step(sc, `^the frontend is told of the error$`, s.hearsOfError)
	steps.Step(sc, `^SessionManager is asked for agent "(\w)", or the frontend is told of an error$`, s.absentDealtWith)
}

// input is one user input, under the name that the scenario gives it, and its turn.
type input struct {
	token      string
	said       int // number of the record
	agent      string
	turn       string
	trace      string
	routed     int
	acked      int
	pieces     int
	last       *piece // of output
	stop       int    // number of the last cancel by the user
	stops      judge.Message
	ack        int      // of the cancel
	ended      string   // "final", "cancel" or "time-out"
	passed     int      // number of the last output sent in the turn and forwarded
	structured bool     // its payload is an object, and it mentions no agent
	form       []string // clauses about the way it mentions an agent; nil: it mentions none
}

// piece is one output of an agent.
type piece struct {
	token string
	at    int
	sent  judge.Message
}

func (s *suite) input(name string) (*input, error) {
	in, ok := s.now.inputs[name]
	if !ok {
		return nil, steps.NotTestedf("there is no input %q", name)
	}
	if in.routed == 0 { // it may have been routed meanwhile
		if m, ok := s.find(in.said, func(m judge.Message) bool {
			return m.Kind() == judge.Route && judge.Token(m.Payload) == in.token
		}); ok {
			in.take(m)
		}
	}
	return in, nil
}

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
func (s *suite) says(ctx context.Context, name, how string) error {
	in := &input{token: s.token()}
	f := frame{event: vocab.UserInput, from: judge.Frontend, payload: "what about " + in.token + "?"}
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
	case "BROADCAST":
		f.target = vocab.ToBroadcast
	}
	_, in.structured = f.payload.(map[string]any)
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
	said := s.latest(func(m judge.Message) bool { return m.N == was.said })
	return s.say(ctx, name, &input{token: was.token},
		frame{event: vocab.UserInput, from: judge.Frontend, payload: said.Payload})
}

func (s *suite) say(ctx context.Context, name string, in *input, f frame) (err error) {
	s.now.inputs[name] = in
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

var aboutRoutes = []string{"RT-001", "RT-013", "RT-015", "RT-030", "RT-064", "RT-067", "RT-068", "RT-069", "RT-070",
	"RT-071", "RT-075", "RT-174", "RT-083", "RT-084", "RT-085", "RT-088", "RT-092", "RT-049", "RT-111"}

// reaches checks that the input goes to an agent (RT-075, RT-092).
func (s *suite) reaches(ctx context.Context, name, letter string, more ...string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	m, err := s.published(ctx, in.said, s.unrouted(in), "the input on its way to agent "+s.agent(letter),
		func(m judge.Message) bool {
			return m.Kind() == judge.Route && judge.Token(m.Payload) == in.token
		}, instead{clauses: append(s.unrouted(in), s.changed(in)...), how: "the frontend gets an error",
			match: func(m judge.Message) bool { return m.Kind() == judge.Failure }})
	if err != nil {
		return err
	}
	in.take(m)
	s.RecordReach(steps.Answered)
	if m.TargetID != s.agent(letter) {
		return s.Need(verdict.Finding{Clauses: s.misrouted(in, m), Expected: "the input for agent " + s.agent(letter),
			Observed: m.Name(), At: m.N})
	}
	return s.Judge(verdict.Finding{Clauses: append(more, aboutRoutes...), OK: true})
}

func (in *input) take(m judge.Message) {
	in.agent, in.turn, in.trace, in.routed = m.TargetID, m.Turn, m.Trace, m.N
}

// reachesSomebody checks that an input is not dropped while no agent is active (RT-070).
func (s *suite) reachesSomebody(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	m, err := s.published(ctx, in.said, []string{"RT-070"},
		"the input routed to a default agent, or SessionManager asked for one", func(m judge.Message) bool {
			return m.Kind() == judge.Route && judge.Token(m.Payload) == in.token || m.Event == vocab.Control &&
				m.Target == vocab.ToSystem && m.Kind() != judge.Switch
		})
	if err != nil {
		return err
	}
	if m.Kind() == judge.Route {
		in.take(m)
	}
	return s.Judge(verdict.Finding{Clauses: []string{"RT-071"}, OK: m.Kind() == judge.Route,
		Expected: "a default agent of the orchestrator", Observed: m.Name(), At: m.N})
}

// turnsDiffer checks that each turn has its own turn_id (RT-052, RT-072).
func (s *suite) turnsDiffer(ctx context.Context, turns int) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	of := map[string]int{}
	for _, in := range s.now.inputs {
		if in.routed > 0 {
			of[in.turn]++
		}
	}
	return s.Judge(verdict.Finding{Clauses: []string{"RT-052", "RT-072"}, OK: len(of) == turns,
		Expected: fmt.Sprintf("%d turns, each with a turn_id of its own", turns),
		Observed: "the inputs were routed under " + strings.Join(quoted(of), ", "), At: s.mark})
}

// quoted lists turn_ids, each with the number of turns that have it.
func quoted(of map[string]int) (out []string) {
	for _, id := range slices.Sorted(maps.Keys(of)) {
		out = append(out, fmt.Sprintf("%q (%d times)", id, of[id]))
	}
	return out
}

// reachesNobody proves that an input is not routed.
func (s *suite) reachesNobody(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	clauses := []string{"RT-086", "RT-087"}
	if s.onlyObserved() {
		clauses = []string{"RT-028"}
	} else if s.hasDelivered(0, control(vocab.InviteAgent)) {
		clauses = append(clauses, "RT-122")
	}
	return s.none(ctx, in.said, clauses, "the input not routed", func(m judge.Message) bool {
		return m.Kind() == judge.Route && judge.Token(m.Payload) == in.token
	})
}

// none proves that nothing of a kind was published after a record, up to a fence.
func (s *suite) none(ctx context.Context, after int, clauses []string, what string,
	match func(judge.Message) bool) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	for _, r := range s.Between(bus, after, 0) {
		if m, ok := judge.Read(r); ok && s.belongs(m, s.now) && match(m) {
			return s.Judge(verdict.Finding{Clauses: clauses, Expected: what, Observed: seen(m), At: r.N})
		}
	}
	s.absences = append(s.absences, verdict.Finding{Clauses: clauses, OK: true})
	return nil
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
		if err := s.says(ctx, name, ""); err != nil {
			return err
		}
	}
	return inOrder(
		func() error { return s.runs(ctx, name, letter) },
		func() error { return s.sends(ctx, letter, "a chunk", name, "") },
		func() error { return s.forwarded(ctx, name) },
	)
}

// timesOut expects ROUTE_TIMEOUT for a turn that was not acknowledged (RT-078).
func (s *suite) timesOut(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	clauses := []string{"RT-073", "RT-077", "RT-078", "RT-082"}
	if in.form != nil {
		clauses = append(clauses, "RT-094")
	}
	if in.ack > 0 && s.was(judge.RouteTimeout) { // it is published for a turn without a reply
		clauses = append(clauses, "RT-059")
	}
	_, err = s.publishedWithin(ctx, in.said, s.withLimit(s.limits.InputAck), clauses,
		fmt.Sprintf("ERROR ROUTE_TIMEOUT to the frontend once %v have passed", s.limits.InputAck),
		func(m judge.Message) bool {
			return m.Kind() == judge.RouteTimeout && (m.Turn == in.turn || m.Turn == "")
		}, instead{clauses: []string{"RT-073", "RT-078"}, how: "it concerns another turn, or has another form",
			match: func(m judge.Message) bool { return m.Subtype == vocab.RouteTimeout }})
	if err == nil {
		in.ended = "time-out"
	}
	return err
}

// timedOutWith checks that each of two turns gets its own ROUTE_TIMEOUT (RT-052, RT-053).
func (s *suite) timedOutWith(ctx context.Context, one, other string) error {
	partner := map[string]string{one: other, other: one}
	for _, name := range []string{one, other} {
		in, err := s.input(name)
		if err != nil {
			return err
		}
		second, err := s.input(partner[name])
		if err != nil {
			return err
		}
		if _, err := s.publishedWithin(ctx, in.said, s.withLimit(s.limits.InputAck), []string{"RT-073", "RT-078"},
			"ERROR ROUTE_TIMEOUT with the turn_id of "+name, func(m judge.Message) bool {
				return m.Kind() == judge.RouteTimeout && m.Turn == in.turn
			}, instead{clauses: []string{"RT-052", "RT-053", "RT-073"}, how: "it names another turn, or none",
				match: func(m judge.Message) bool { return m.Kind() == judge.RouteTimeout && m.Turn != second.turn }}); err != nil {
			return err
		}
		if err := s.Judge(verdict.Finding{Clauses: []string{"RT-052", "RT-053"}, OK: true}); err != nil {
			return err
		}
	}
	return nil
}

// reportsError sends an agent's ERROR (1.2).
func (s *suite) reportsError(ctx context.Context, letter, name, where string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	return s.report(ctx, s.fromAgent(letter, in, vocab.Error, "MODEL_ERROR", nil, where))
}

func (s *suite) managerError(ctx context.Context) error {
	return s.report(ctx, frame{event: vocab.Error, subtype: "STORE_ERROR", from: judge.Manager})
}

func (s *suite) report(ctx context.Context, f frame) (err error) {
	token := s.token()
	f.payload = map[string]any{"code": f.subtype, "message": "failed " + token, "text": "failed " + token}
	s.now.errorAt, err = s.deliver(ctx, f)
	return err
}

// hearsOfError checks that the error is forwarded to the frontend (RT-011).
func (s *suite) hearsOfError(ctx context.Context) error {
	clauses := []string{"RT-011"}
	if by := s.latest(func(m judge.Message) bool { return m.Event == vocab.Error }); by.From != judge.Manager {
		clauses = append(append(clauses, "RT-040"), s.broadcast(by)...)
	}
	_, err := s.published(ctx, s.now.errorAt, clauses, "the ERROR to the frontend", func(m judge.Message) bool {
		return m.Event == vocab.Error && m.Target == vocab.ToFrontend
	})
	return err
}
