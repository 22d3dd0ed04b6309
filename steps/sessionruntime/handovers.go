package sessionruntime

import (
	"context"
	"maps"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	judge "parley/steps/sessionruntime/model"
)

// handover is an agent's request, under the name of the input concerned.
type handover struct {
	token    string
	from, to string // letters
	asked    int
	prompt   judge.Message
	decided  int
}

func (s *suite) registerHandovers(sc *godog.ScenarioContext) {
	steps.Step(sc, `^agent "(\w)" asks to hand "(\w+)" over to agent "(\w)"( on BROADCAST)?$`, s.asksToHandOver)
	steps.Step(sc, `^the user is asked whether agent "(\w)" may take over "(\w+)"$`, s.userIsAsked)
	steps.Step(sc, `^the user (confirms|rejects) the handover of "(\w+)"( on BROADCAST)?$`, s.decides)
	steps.Step(sc, `^the user confirms a handover to agent "(\w)" that no agent has requested$`, s.confirmsNothing)
	steps.Step(sc, `^agent "(\w)" answers the handover$`, s.answersHandover)
	steps.Step(sc, `^agent "(\w)" gets the context of "(\w+)"$`, s.getsContext)
}

// asksToHandOver sends HANDOVER_REQUEST (4F).
func (s *suite) asksToHandOver(ctx context.Context, from, name, to, where string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	h := &handover{token: s.token(), from: from, to: to}
	s.now.handovers[name] = h
	f := s.fromAgent(from, in, vocab.Control, vocab.HandoverRequest,
		map[string]any{"reason": "a specialist is needed " + h.token, "summary": "so far: " + h.token, "from": s.agent(from)},
		where)
	f.fields = []field{{places: s.bind.wire.Fields.TargetAgent, all: true, value: s.agent(to)}}
	h.asked, err = s.deliver(ctx, f)
	return err
}

func (s *suite) handover(name string) (*handover, error) {
	h, ok := s.now.handovers[name]
	if !ok {
		return nil, steps.NotTestedf("no agent has asked to hand %q over", name)
	}
	return h, nil
}

// userIsAsked waits for HANDOVER_UI_PROMPT (RT-131, RT-132).
func (s *suite) userIsAsked(ctx context.Context, _, name string) error {
	h, err := s.handover(name)
	if err != nil {
		return err
	}
	h.prompt, err = s.settled(ctx, h.asks())
	return err
}

func (h *handover) asks() judge.Duty {
	return judge.Duty{Kinds: []judge.Kind{judge.Prompt}, Of: h.asked}
}

// named returns the fields by which the profile names the agent that takes over, written where the prompt left them
// empty. The source does not say what an answer contains, so it contains all that a frontend knows.
func (s *suite) named(letter string) []field {
	at, id := s.bind.wire.Fields, s.agent(letter)
	return []field{{places: at.TargetAgent, all: true, free: true, value: id}, {places: at.AgentID, free: true, value: id},
		{places: at.To, free: true, value: id}}
}

// decides answers a prompt with its ids, its payload, and the agent concerned.
func (s *suite) decides(ctx context.Context, what, name, where string) error {
	h, err := s.handover(name)
	if err != nil {
		return err
	}
	if h.prompt.N == 0 {
		h.prompt, _ = s.came(h.asks())
	}
	for _, other := range s.now.handovers {
		if other != h && other.decided == 0 && h.prompt.N > 0 && h.prompt.Tx == "" && h.prompt.Turn == "" {
			return steps.NotTestedf("two handovers are open, and the prompt of this one has neither a tx_id nor a turn_id: " +
				"no answer can refer to it")
		}
	}
	subtype := map[string]string{"confirms": vocab.HandoverConfirm, "rejects": vocab.HandoverReject}[what]
	payload := map[string]any{}
	if said, ok := h.prompt.Payload.(map[string]any); ok {
		payload = maps.Clone(said)
	}
	h.decided, err = s.deliver(ctx,
		frame{event: vocab.Control, subtype: subtype, from: judge.Frontend, target: onBroadcast(where), trace: h.prompt.Trace,
			turn: h.prompt.Turn, tx: h.prompt.Tx, payload: payload, fields: s.named(h.to)})
	s.now.asked = h.decided
	return err
}

// confirmsNothing confirms a handover to an agent of the session in full, but with ids of a transaction that does not
// exist.
func (s *suite) confirmsNothing(ctx context.Context, letter string) error {
	for _, h := range s.now.handovers {
		if h.decided == 0 && h.prompt.Tx == "" && h.prompt.Turn == "" {
			return steps.NotTestedf("the prompt of a handover has neither a tx_id nor a turn_id: no answer can refer to " +
				"another one")
		}
	}
	id := s.token()[1:]
	_, err := s.deliver(ctx,
		frame{event: vocab.Control, subtype: vocab.HandoverConfirm, from: judge.Frontend, trace: "no-trace-" + id,
			turn: "no-turn-" + id, tx: "no-tx-" + id,
			payload: map[string]any{"tx_id": "no-tx-" + id}, fields: s.named(letter)})
	return err
}

// answersHandover ends the new agent's turn if the handover began one, so that nothing is in progress.
func (s *suite) answersHandover(ctx context.Context, letter string) error {
	if _, begun := s.now.inputs["handover"]; !begun {
		return s.fence(ctx)
	}
	if err := s.sends(ctx, letter, "a final without chunks", "handover", ""); err != nil {
		return err
	}
	return s.fence(ctx)
}

// getsContext waits until the new agent gets the old one's output, as HANDOVER_CONTEXT or USER_INPUT (RT-135), and
// makes it acknowledge that.
func (s *suite) getsContext(ctx context.Context, letter, name string) error {
	h, err := s.handover(name)
	if err != nil {
		return err
	}
	m, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Context}, Of: h.decided})
	if err != nil {
		return err
	}
	if m.Kind() == judge.Route { // a turn of the new agent
		next := &input{token: s.token()}
		next.take(m)
		s.now.inputs["handover"] = next
		_, err = s.deliver(ctx, s.fromAgent(letter, next, vocab.Control, vocab.InputAck, map[string]any{}, ""))
		return err
	}
	_, err = s.deliver(ctx,
		frame{event: vocab.Control, subtype: vocab.HandoverAccepted, from: s.agent(letter), trace: m.Trace, turn: m.Turn,
			tx: m.Tx, payload: map[string]any{}})
	return err
}
