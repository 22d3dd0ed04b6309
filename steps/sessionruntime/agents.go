package sessionruntime

import (
	"cmp"
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
	steps.Step(sc, `^the user (removes|invites|switches to) agent "(\w)"( on BROADCAST)?$`, s.userAsks)
	steps.Step(sc, `^the user (opens|closes) the session( on BROADCAST)?$`,
		func(ctx context.Context, what, where string) error { return s.userAsks(ctx, what, "", where) })
	steps.Step(sc, `^SessionManager is asked to (remove|add|open|close) (?:agent "(\w)"|the session)$`, s.managerIsAsked)
	const how = `is removed|could not be removed|is added|could not be added|is opened|is closed|could not be opened|` +
		`could not be closed`
	steps.Step(sc, `^SessionManager says that (?:agent "(\w)"|the session) (`+how+`)( on BROADCAST)?$`, s.managerSays)
	steps.Step(sc, `^the frontend is told that (?:agent "(\w)"|the session) (`+how+`)$`, s.frontendIsTold)
	steps.Step(sc, `^a switch from (?:nobody|agent "\w") to (?:agent "(\w)"|one of the others) is announced$`,
		s.switchAnnounced)
	steps.Step(sc, `^the next input reaches (?:agent "(\w)"|the fallback)$`, s.nextReaches)
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

// agentIn returns the id of an agent, "" without a letter.
func (s *suite) agentIn(letter string) string {
	if letter == "" {
		return ""
	}
	return s.agent(letter)
}

// userAsks sends what the user asks for of an agent, or of the session (1.1, 4D, 4E, 4H).
func (s *suite) userAsks(ctx context.Context, what, letter, where string) (err error) {
	f := frame{event: vocab.Control, from: judge.Frontend, target: onBroadcast(where), payload: map[string]any{},
		subtype: map[string]string{"removes": vocab.RemoveAgent, "invites": vocab.InviteAgent,
			"switches to": vocab.SwitchAgent, "opens": vocab.SessionOpen, "closes": vocab.SessionClose}[what]}
	switch id := s.agentIn(letter); what {
	case "removes":
		f.fields = []field{s.agentID(letter)}
	case "invites":
		f.payload = map[string]any{"agent_spec": map[string]any{"agent_id": id, "id": id, "name": "Agent " + letter,
			"role": "an expert"}}
	case "switches to":
		f.fields = append(s.switchTo(letter, "the user chose it", "user"), s.agentID(letter))
	default:
		f.payload = map[string]any{"session_id": s.now.id}
	}
	s.now.asked, err = s.deliver(ctx, f)
	return err
}

// switchTo returns the fields of a SWITCH_AGENT.
func (s *suite) switchTo(letter, reason, trigger string) []field {
	at, from := s.bind.wire.Fields, any(nil)
	if s.now.active != "" && trigger == "user" {
		from = s.agent(s.now.active)
	}
	return []field{{places: at.To, value: s.agent(letter)}, {places: at.From, value: from},
		{places: at.Reason, value: reason}, {places: at.Trigger, value: trigger}}
}

// foreignSwitch sends a SWITCH_AGENT on BROADCAST that the orchestrator may only observe (RT-028).
func (s *suite) foreignSwitch(ctx context.Context, letter string) error {
	_, err := s.deliver(ctx, frame{event: vocab.Control, subtype: vocab.SwitchAgent, from: judge.Logger,
		target: vocab.ToBroadcast, payload: map[string]any{}, fields: s.switchTo(letter, "replayed", "replay")})
	return err
}

// managerIsAsked waits until the orchestrator passes a request on to SessionManager.
func (s *suite) managerIsAsked(ctx context.Context, what, letter string) error {
	k := map[string]judge.Kind{"remove": judge.RequestRemove, "add": judge.RequestAdd, "open": judge.RequestOpen,
		"close": judge.RequestClose}[what]
	_, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{k}, Since: s.now.asked, Agent: s.agentIn(letter)})
	return err
}

// result is an answer of SessionManager: to which request, and as what it is forwarded to the frontend.
type result struct {
	subtype    string
	to, passed judge.Kind
}

var results = map[string]result{
	"is removed":           {vocab.RemoveAgentDone, judge.RequestRemove, judge.Removed},
	"could not be removed": {vocab.RemoveAgentFailed, judge.RequestRemove, judge.RemoveFailed},
	"is added":             {vocab.AddAgentDone, judge.RequestAdd, judge.Added},
	"could not be added":   {vocab.AddAgentFailed, judge.RequestAdd, judge.Failure},
	"is opened":            {vocab.SessionOpened, judge.RequestOpen, judge.Notice},
	"could not be opened":  {vocab.SessionFailed, judge.RequestOpen, judge.Notice},
	"is closed":            {vocab.SessionClosed, judge.RequestClose, judge.Notice},
	"could not be closed":  {vocab.SessionFailed, judge.RequestClose, judge.Notice},
}

// managerSays sends a receipt of SessionManager. It has the ids of a request of its own kind, or none.
func (s *suite) managerSays(ctx context.Context, letter, what, where string) (err error) {
	f := frame{event: vocab.Control, subtype: results[what].subtype, from: judge.Manager, target: onBroadcast(where)}
	payload, since := map[string]any{"session_id": s.now.id}, s.now.asked
	if strings.HasPrefix(what, "could not") {
		payload["reason"], payload["error"] = "the store cannot be reached", "the store cannot be reached"
	}
	if letter != "" {
		since, f.fields = 1, []field{s.agentID(letter)}
	}
	to, _ := s.came(judge.Duty{Kinds: []judge.Kind{results[what].to}, Since: since, Agent: s.agentIn(letter)})
	f.trace, f.turn, f.tx, f.payload = to.Trace, to.Turn, to.Tx, payload
	s.now.receipt, err = s.deliver(ctx, f)
	return err
}

// frontendIsTold waits until the receipt is forwarded to the frontend (RT-046, RT-155).
func (s *suite) frontendIsTold(ctx context.Context, letter, what string) error {
	_, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{results[what].passed}, Of: s.now.receipt,
		Agent: s.agentIn(letter)})
	return err
}

// switchAnnounced waits until a change of the active agent is published (section 3): to an agent, or, for "", to any of
// those that remain (RT-G08).
func (s *suite) switchAnnounced(ctx context.Context, letter string) error {
	since := s.mark
	if letter == "" {
		since = s.now.asked
	}
	m, err := s.settled(ctx, judge.Duty{Kinds: []judge.Kind{judge.Switch}, Since: since})
	if err != nil {
		return err
	}
	to := text(m.Data[judge.SwitchTo])
	if letter != "" && to != s.agent(letter) {
		return steps.NotTestedf("the switch is to agent %q, which the source permits here", to)
	}
	s.now.active = cmp.Or(letter, s.letter(to))
	return nil
}

// nextReaches waits until a plain input goes to the active agent (RT-064).
func (s *suite) nextReaches(ctx context.Context, letter string) error {
	return inOrder(
		func() error { return s.says(ctx, "next", "", "") },
		func() error { return s.reaches(ctx, "next", cmp.Or(letter, s.now.active)) },
	)
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
