package sessionruntime

import (
	"context"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/invariants"
)

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
