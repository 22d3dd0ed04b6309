package sessionruntime

import (
	"context"

	"github.com/cucumber/godog"

	"parley/features/verdict"
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
	steps.Step(sc, `^a switch from agent "(\w)" to one of the others is announced$`, s.fallbackAnnounced)
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
	clauses := []string{"RT-008", "RT-018", "RT-020", "RT-034", "RT-108", "RT-110"}
	// the CANCEL already shows that it was accepted
	if ack := s.stopped(s.now.asked); ack.N > 0 && ack.From == s.agent(letter) {
		clauses = []string{"RT-018", "RT-110"}
		if s.was(judge.RequestRemove) { // it came for an agent that was not speaking
			clauses = append(clauses, "RT-060", "RT-106")
		}
	}
	m, err := s.published(ctx, s.now.asked, clauses,
		"CONTROL REQUEST_REMOVE_AGENT for "+s.agent(letter)+" to SYSTEM", func(m judge.Message) bool {
			return m.Kind() == judge.RequestRemove && (m.AgentID == s.agent(letter) || m.AgentID == "")
		}, instead{clauses: []string{"RT-113"}, how: "it is not on SYSTEM", match: func(m judge.Message) bool {
			return control(vocab.RequestRemoveAgent)(m) && m.Target != vocab.ToSystem
		}}, instead{clauses: []string{"RT-110"}, how: "it names another agent", match: func(m judge.Message) bool {
			return m.Kind() == judge.RequestRemove
		}}, s.otherName(letter, "RT-110"))
	if err != nil {
		return err
	}
	s.now.requests[letter] = m
	return s.Judge(verdict.Finding{Clauses: []string{"RT-060", "RT-100", "RT-106", "RT-109", "RT-113", "RT-172"},
		OK: true})
}

// otherName matches a request to SessionManager under another name than the source's.
func (s *suite) otherName(letter string, clauses ...string) instead {
	return instead{clauses: append(clauses, "RT-172"), how: "it has another name", match: func(m judge.Message) bool {
		return m.Kind() == judge.Other && m.Event == vocab.Control && m.Target == vocab.ToSystem &&
			judge.Mentions(m, s.agent(letter))
	}}
}

func (s *suite) askedToAdd(ctx context.Context, letter string) error {
	id := s.agent(letter)
	m, err := s.published(ctx, s.now.asked, []string{"RT-017", "RT-020", "RT-033", "RT-119", "RT-120", "RT-121"},
		"CONTROL REQUEST_ADD_AGENT for "+s.agent(letter)+" to SYSTEM", func(m judge.Message) bool {
			return m.Kind() == judge.RequestAdd && judge.Mentions(m, s.agent(letter))
		}, instead{clauses: []string{"RT-120"}, how: "it does not name agent " + id, match: func(m judge.Message) bool {
			return m.Kind() == judge.RequestAdd
		}},
		instead{clauses: []string{"RT-121"}, how: "it is not on SYSTEM", match: control(vocab.RequestAddAgent)},
		s.otherName(letter, "RT-121"),
		instead{clauses: []string{"RT-017", "RT-020", "RT-025", "RT-119"},
			how: "the agent was added without a request", match: func(m judge.Message) bool {
				return m.Kind() == judge.Added
			}})
	if err != nil {
		return err
	}
	s.now.requests[letter] = m
	return s.Judge(verdict.Finding{Clauses: []string{"RT-025", "RT-172"}, OK: true})
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
	to, asked := s.now.requests[letter]
	if !asked {
		k := map[bool]judge.Kind{true: judge.RequestAdd, false: judge.RequestRemove}[what == "is added" ||
			what == "could not be added"]
		to, _ = s.find(0, func(m judge.Message) bool { return m.Kind() == k && judge.Mentions(m, s.agent(letter)) })
	}
	if where == "" {
		delete(s.now.requests, letter)
	}
	f := s.receipt(moveReceipts[what], to, payload)
	f.target = onBroadcast(where)
	f.fields = []field{s.agentID(letter)}
	s.now.receipt, err = s.deliver(ctx, f)
	return err
}

// moves are the four results of a move: the message that reports each, and the clauses broken if it is missing.
var moves = map[string]struct {
	kind    judge.Kind
	name    string
	clauses []string // if nothing is reported
	of      []string // if it is reported about another agent
	form    []string // if it is reported in another form
	order   []string // if it is reported before the receipt, or something else instead
}{
	"is removed": {judge.Removed, vocab.AgentRemoved, []string{"RT-018", "RT-044", "RT-046", "RT-116", "RT-164"},
		[]string{"RT-116"}, []string{"RT-010", "RT-116"},
		[]string{"RT-115", "RT-116", "RT-171"}},
	"could not be removed": {judge.RemoveFailed, vocab.RemoveAgentFailed, []string{"RT-044", "RT-046", "RT-117", "RT-164"},
		[]string{"RT-117"}, []string{"RT-117"},
		[]string{"RT-115", "RT-117"}},
	"is added": {judge.Added, vocab.AgentAdded, []string{"RT-017", "RT-043", "RT-046", "RT-124", "RT-127", "RT-163"},
		[]string{"RT-124", "RT-127"}, []string{"RT-010", "RT-127"},
		[]string{"RT-126", "RT-127"}},
	"could not be added": {judge.Other, vocab.AddFailed, []string{"RT-043", "RT-046", "RT-163"}, nil, nil,
		[]string{"RT-126", "RT-127"}},
}

// moveTold checks that the receipt is forwarded to the frontend (RT-046).
func (s *suite) moveTold(ctx context.Context, letter, what string) error {
	id := s.agent(letter)
	about := func(m judge.Message) bool { return m.AgentID == id || m.AgentID == "" }
	o := moves[what]
	match := judge.TellsOfFailure
	if o.kind != judge.Other {
		match = func(m judge.Message) bool { return m.Kind() == o.kind && about(m) }
	}
	tells := func(m judge.Message) bool { return m.Subtype == o.name || m.Subtype == moveReceipts[what] }
	others := []instead{
		{clauses: append([]string{"RT-062"}, o.of...), how: "it is about another agent", match: func(m judge.Message) bool {
			return o.kind != judge.Other && m.Kind() == o.kind
		}},
		{clauses: append([]string{"RT-046"}, o.form...), how: "it is not sent to the frontend",
			match: func(m judge.Message) bool { return tells(m) && m.Target != vocab.ToFrontend }},
		{clauses: o.form, how: "it is reported in another form", match: tells},
		{clauses: o.order, how: "the frontend receives something else", match: func(m judge.Message) bool {
			return (m.Kind() == judge.Removed || m.Kind() == judge.Added) && about(m)
		}},
		{since: s.now.began, clauses: append(s.beside(what), o.order...), how: "it came before the receipt",
			match: func(m judge.Message) bool { return o.kind != judge.Other && m.Kind() == o.kind && m.AgentID == id }},
	}
	if _, err := s.published(ctx, s.now.receipt, append(s.beside(what), o.clauses...),
		"the frontend is told that agent "+id+" "+what, match, others...); err != nil {
		return err
	}
	s.now.told[what] = true
	return s.Judge(verdict.Finding{Clauses: append([]string{"RT-010", "RT-062", "RT-111", "RT-118"}, o.order...),
		OK: true})
}

var aboutSwitches = []string{"RT-006", "RT-032", "RT-048", "RT-061", "RT-063", "RT-065", "RT-066", "RT-089", "RT-091",
	"RT-112", "RT-134", "RT-167", "RT-176"}

// switchAnnounced checks that a change of the active agent is published (section 3).
func (s *suite) switchAnnounced(ctx context.Context, from, letter string) error {
	names := func(m judge.Message) bool { return text(m.Data[judge.SwitchTo]) == s.agent(letter) }
	others := s.otherSwitches(names)
	for _, in := range s.now.inputs {
		if in.said == s.mark && in.form != nil {
			others = append(others,
				instead{clauses: append([]string{"RT-086", "RT-088", "RT-092"}, in.form...),
					how: "no switch, and the input goes to another agent", match: func(m judge.Message) bool {
						return m.Kind() == judge.Route && judge.Token(m.Payload) == in.token && m.TargetID != s.agent(letter)
					}}, instead{clauses: append([]string{"RT-049", "RT-086", "RT-092"}, in.form...),
					how: "no switch, and the frontend gets an error", match: func(m judge.Message) bool {
						return m.Kind() == judge.Failure
					}})
		}
	}
	if act := s.latest(anything); act.Subtype == vocab.HandoverConfirm {
		asked := s.latest(control(vocab.HandoverRequest))
		others = append(others,
			instead{since: asked.N, clauses: []string{"RT-061", "RT-128", "RT-133"},
				how: "it came before the frontend had confirmed", match: func(m judge.Message) bool {
					return m.Kind() == judge.Switch && names(m)
				}}, instead{clauses: []string{"RT-006", "RT-061", "RT-063", "RT-065", "RT-134"},
				how: "no switch, and the agent has the context", match: func(m judge.Message) bool {
					return m.Kind() == judge.Context && m.TargetID == s.agent(letter)
				}})
	}
	m, err := s.published(ctx, s.mark, s.unannounced(), "CONTROL SWITCH_AGENT to "+s.agent(letter),
		func(m judge.Message) bool {
			return m.Kind() == judge.Switch && names(m) && m.Target != vocab.ToFrontend
		}, others...)
	if err == nil {
		err = s.Judge(verdict.Finding{Clauses: aboutSwitches, OK: true})
	}
	if err != nil {
		return err
	}
	s.now.active = letter
	if old := letters.FindStringSubmatch(from); old != nil {
		return s.Judge(verdict.Finding{Clauses: []string{"RT-066", "RT-048"},
			OK: text(m.Data[judge.SwitchFrom]) == s.agent(old[1]), Expected: "from " + s.agent(old[1]), Observed: seen(m),
			At: m.N})
	}
	return nil
}

// fallbackAnnounced accepts a switch to any of the remaining agents (RT-G08).
func (s *suite) fallbackAnnounced(ctx context.Context, letter string) error {
	m, err := s.published(ctx, s.now.asked, []string{"RT-006", "RT-063", "RT-065", "RT-112"},
		"CONTROL SWITCH_AGENT to one of the remaining agents",
		func(m judge.Message) bool {
			return m.Kind() == judge.Switch && m.Target != vocab.ToFrontend
		}, s.otherSwitches(func(judge.Message) bool { return true })...)
	if err == nil {
		err = s.Judge(verdict.Finding{Clauses: aboutSwitches, OK: true})
	}
	if err != nil {
		return err
	}
	s.now.active = ""
	for _, left := range s.now.agents {
		if left != letter && s.agent(left) == text(m.Data[judge.SwitchTo]) {
			s.now.active = left
		}
	}
	return s.Need(verdict.Finding{Clauses: []string{"RT-112"}, OK: s.now.active != "",
		Expected: "one of the remaining agents", Observed: seen(m), At: m.N})
}

// nextReaches checks that a plain input goes to the active agent (RT-064).
func (s *suite) nextReaches(ctx context.Context, letter string) error {
	if err := s.says(ctx, "next", ""); err != nil {
		return err
	}
	return s.reaches(ctx, "next", letter, "RT-014", "RT-048", "RT-063", "RT-079", "RT-103", "RT-104", "RT-112", "RT-133",
		"RT-134", "RT-137", "RT-145")
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
		in.form = []string{"RT-083", "RT-174"}
		f.subtype, f.mention, f.payload = vocab.Mention, who, "@"+who+" what about "+in.token+"?"
	case "its payload":
		in.form = []string{"RT-084"}
		f.payload = map[string]any{"text": "what about " + in.token + "?", "mentioned_agent_id": who}
	case "a choice in the interface":
		in.form = []string{"RT-085"}
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

// absentDealtWith accepts either outcome, and requires one of them (RT-087).
func (s *suite) absentDealtWith(ctx context.Context, letter string) error {
	clauses := []string{"RT-049", "RT-086", "RT-087"}
	if s.hasDelivered(0, control(vocab.RemoveAgentDone)) {
		clauses = append(clauses, "RT-111")
	}
	asked := s.latest(func(m judge.Message) bool { return m.Event == vocab.UserInput })
	m, err := s.published(ctx, s.mark, []string{"RT-087"},
		"a REQUEST_ADD_AGENT for "+s.agent(letter)+", or an ERROR to the frontend", func(m judge.Message) bool {
			return m.Kind() == judge.RequestAdd || m.Event == vocab.Error && m.Target == vocab.ToFrontend
		}, instead{clauses: clauses, how: "the input is routed", match: func(m judge.Message) bool {
			return m.Kind() == judge.Route && judge.Token(m.Payload) == judge.Token(asked.Payload)
		}})
	if err == nil {
		err = s.Judge(verdict.Finding{Clauses: clauses, OK: true})
	}
	if err == nil && m.Kind() == judge.RequestAdd {
		s.now.requests[letter] = m
	}
	return err
}
