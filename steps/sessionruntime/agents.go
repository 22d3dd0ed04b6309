package sessionruntime

import (
	"context"
	"strings"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	judge "parley/steps/sessionruntime/model"
)

func (s *suite) registerAgents(sc *godog.ScenarioContext) {
	steps.Step(sc,
		`^agents? "(\w)"(?: and "(\w)")? whose ids? (differ only behind a dot|differ only behind their 50th character|`+
			`has upper-case and decomposed letters)$`, s.called)
	steps.Step(sc, `^the user removes agent "(\w)"( on BROADCAST)?$`, s.removes)
	steps.Step(sc, `^the user invites agent "(\w)"( on BROADCAST)?$`, s.invites)
	steps.Step(sc, `^the user switches to agent "(\w)"( on BROADCAST)?$`, s.switches)
	steps.Step(sc, `^SessionManager is asked to remove agent "(\w)"$`, s.askedToRemove)
	steps.Step(sc, `^SessionManager is asked to add agent "(\w)"$`, s.askedToAdd)
	steps.Step(sc,
		`^SessionManager says that agent "(\w)" (is removed|could not be removed|is added|`+
			`could not be added)( on BROADCAST)?$`, s.moveReceipt)
	steps.Step(sc,
		`^the frontend is told that agent "(\w)" (is removed|could not be removed|is added|could not be added)$`,
		s.moveTold)
	steps.Step(sc, `^a switch from (nobody|agent "\w") to agent "(\w)" is announced$`, s.switchAnnounced)
	steps.Step(sc, `^a switch from agent "(\w)" to one of the others is announced$`,
		func(ctx context.Context, _ string) error { return s.fallbackAnnounced(ctx) })
	steps.Step(sc, `^the next input reaches agent "(\w)"$`, s.nextReaches)
	steps.Step(sc, `^the next input reaches the fallback$`, s.nextReachesFallback)
	steps.Step(sc, `^the logger repeats a switch to agent "(\w)" on BROADCAST$`, s.foreignSwitch)
}

// called gives agents that are not in the session yet ids that are easily mistaken for one another, or changed.
func (s *suite) called(one, other, how string) {
	s.ids = map[string]string{}
	for _, letter := range []string{one, other} {
		if letter == "" {
			continue
		}
		switch how {
		case "differ only behind a dot":
			s.ids[letter] = "expert-" + s.Nonce + "." + letter
		case "differ only behind their 50th character":
			s.ids[letter] = "an-expert-whose-name-is-longer-than-fifty-characters-" + s.Nonce + "-" + letter
		default:
			s.ids[letter] = "Expert-Rene\u0301-" + s.Nonce
		}
	}
}

// removes sends REMOVE_AGENT (4D).
func (s *suite) removes(ctx context.Context, letter, where string) (err error) {
	f := frame{event: vocab.Control, subtype: vocab.RemoveAgent, from: judge.Frontend, payload: map[string]any{},
		fields: []field{s.agentID(letter)}}
	f.target = onBroadcast(where)
	s.now.asked, err = s.deliver(ctx, f)
	return err
}

// onBroadcast returns the target of a step: BROADCAST if the step says so, otherwise SYSTEM.
func onBroadcast(where string) string {
	if where != "" {
		return vocab.ToBroadcast
	}
	return vocab.ToSystem
}

func (s *suite) agentID(letter string) field {
	return field{places: s.bind.wire.Fields.AgentID, value: s.agent(letter)}
}

// invites sends INVITE_AGENT (4E).
func (s *suite) invites(ctx context.Context, letter, where string) (err error) {
	id := s.agent(letter)
	s.now.asked, err = s.deliver(ctx,
		frame{event: vocab.Control, subtype: vocab.InviteAgent, from: judge.Frontend, target: onBroadcast(where),
			payload: map[string]any{"agent_spec": map[string]any{"agent_id": id, "id": id, "name": "Agent " + letter,
				"role": "an expert"}}})
	return err
}

// switches sends the frontend's SWITCH_AGENT (1.1).
func (s *suite) switches(ctx context.Context, letter, where string) (err error) {
	at := s.bind.wire.Fields
	f := frame{event: vocab.Control, subtype: vocab.SwitchAgent, from: judge.Frontend, payload: map[string]any{},
		fields: []field{s.agentID(letter), {places: at.To, value: s.agent(letter)}, {places: at.From, value: nil},
			{places: at.Reason, value: "the user chose it"}, {places: at.Trigger, value: "user"}}}
	if s.now.active != "" {
		f.fields[2].value = s.agent(s.now.active)
	}
	if where != "" {
		f.target = vocab.ToBroadcast
	}
	s.now.asked, err = s.deliver(ctx, f)
	return err
}

// foreignSwitch sends a SWITCH_AGENT on BROADCAST that the orchestrator may only observe (RT-028).
func (s *suite) foreignSwitch(ctx context.Context, letter string) error {
	at := s.bind.wire.Fields
	_, err := s.deliver(ctx,
		frame{event: vocab.Control, subtype: vocab.SwitchAgent, from: judge.Logger, target: vocab.ToBroadcast,
			payload: map[string]any{},
			fields: []field{{places: at.To, value: s.agent(letter)}, {places: at.From, value: nil},
				{places: at.Reason, value: "replayed"}, {places: at.Trigger, value: "replay"}}})
	return err
}

func (s *suite) askedToRemove(ctx context.Context, letter string) error {
	_, err := s.settled(ctx,
		judge.Duty{Kinds: []judge.Kind{judge.RequestRemove}, Since: s.now.asked, Agent: s.agent(letter)})
	return err
}

func (s *suite) askedToAdd(ctx context.Context, letter string) error {
	_, err := s.settled(ctx,
		judge.Duty{Kinds: []judge.Kind{judge.RequestAdd}, Since: s.now.asked, Agent: s.agent(letter)})
	return err
}

var moveReceipts = map[string]string{"is removed": vocab.RemoveAgentDone,
	"could not be removed": vocab.RemoveAgentFailed,
	"is added":             vocab.AddAgentDone, "could not be added": vocab.AddAgentFailed}

// moveReceipt sends SessionManager's ADD_AGENT_DONE or REMOVE_AGENT_DONE, or the failure instead.
func (s *suite) moveReceipt(ctx context.Context, letter, what, where string) (err error) {
	payload := map[string]any{"session_id": s.now.id}
	if what == "could not be removed" || what == "could not be added" {
		payload["reason"], payload["error"] = "the store cannot be reached", "the store cannot be reached"
	}
	k := map[bool]judge.Kind{true: judge.RequestAdd, false: judge.RequestRemove}[strings.HasSuffix(what, "added")]
	to, _ := s.came(judge.Duty{Kinds: []judge.Kind{k}, Since: 1, Agent: s.agent(letter)})
	f := s.receipt(moveReceipts[what], to, payload)
	f.target = onBroadcast(where)
	f.fields = []field{s.agentID(letter)}
	s.now.receipt, err = s.deliver(ctx, f)
	return err
}

// moveTold waits until the receipt is forwarded to the frontend (RT-046).
func (s *suite) moveTold(ctx context.Context, letter, what string) error {
	k := map[string]judge.Kind{"is removed": judge.Removed, "could not be removed": judge.RemoveFailed,
		"is added": judge.Added, "could not be added": judge.Failure}[what]
	_, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{k}, Of: s.now.receipt, Agent: s.agent(letter)})
	return err
}

// switchAnnounced waits until a change of the active agent is published (section 3).
func (s *suite) switchAnnounced(ctx context.Context, _, letter string) error {
	m, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Switch}, Since: s.mark})
	if err != nil {
		return err
	}
	if to := text(m.Data[judge.SwitchTo]); to != s.agent(letter) {
		return steps.NotTestedf("the switch is to agent %q, which the source permits here", to)
	}
	s.now.active = letter
	return nil
}

// fallbackAnnounced accepts a switch to any of the remaining agents (RT-G08).
func (s *suite) fallbackAnnounced(ctx context.Context) error {
	m, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Switch}, Since: s.now.asked})
	if err != nil {
		return err
	}
	s.now.active = s.letter(text(m.Data[judge.SwitchTo]))
	return nil
}

// nextReaches waits until a plain input goes to the active agent (RT-064).
func (s *suite) nextReaches(ctx context.Context, letter string) error {
	return inOrder(
		func() error { return s.says(ctx, "next", "") },
		func() error { return s.reaches(ctx, "next", letter) },
	)
}

func (s *suite) nextReachesFallback(ctx context.Context) error {
	return s.nextReaches(ctx, s.now.active)
}

// mentions sends an input that mentions an agent (4B).
func (s *suite) mentions(ctx context.Context, letter, name, form string) error {
	who, in := s.agent(letter), &input{token: s.token()}
	f := frame{event: vocab.UserInput, from: judge.Frontend}
	switch form {
	case "its subtype":
		f.subtype, f.mention, f.payload = vocab.Mention, who, "@"+who+" what about "+in.token+"?"
	case "its payload":
		f.payload = map[string]any{"text": "what about " + in.token + "?", "mentioned_agent_id": who}
	case "a choice in the interface":
		f.subtype, f.mention = vocab.Mention, who
		f.payload = map[string]any{"type": "agent_selection", "text": "what about " + in.token + "?",
			"mentioned_agent_id": who}
	}
	return s.say(ctx, name, in, f)
}

// names sends an input that names an agent only in its text, which is not a form of mention in the source (4B).
func (s *suite) names(ctx context.Context, name, letter string) error {
	in := &input{token: s.token()}
	return s.say(ctx, name, in,
		frame{event: vocab.UserInput, from: judge.Frontend, payload: "@" + s.agent(letter) + " what about " + in.token + "?"})
}

// absentDealtWith accepts either outcome (RT-087).
func (s *suite) absentDealtWith(ctx context.Context, _ string) error {
	_, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.RequestAdd, judge.Failure}, Of: s.mark})
	return err
}
