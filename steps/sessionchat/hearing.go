package sessionchat

import (
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

var (
	_ steps.Recognisable = Protocol{}
	_ steps.Prober       = Protocol{}
)

// Ours implements steps.Recognisable: a message with a message_type, or with most of the other members.
func (Protocol) Ours(message any, _ string) bool {
	return steps.Text(message, inType) != "" || steps.Has(message, inAgent, inSession, inMessage, inTime) > 2
}

// Heard implements steps.Recognisable: a message of a known type at the profile's location.
func (Protocol) Heard(ev *transcript.Event) bool {
	return ev.Type != "" && ev.Type != foreign(ev.Type) && known[ev.Type]
}

var known = map[string]bool{vocab.SystemMessage: true, vocab.StreamMessage: true, vocab.AssistantMessage: true,
	vocab.ResultMessage: true, vocab.PongMessage: true}

// Places implements steps.Recognisable. A ping has no effect, and an unknown type is refused.
func (Protocol) Places() []steps.Place {
	say := []string{`{"type":"` + vocab.PingType + `"}`, `{"type":"parley-hello"}`}
	var out []steps.Place
	for _, path := range []string{vocab.Path, "/ws", "/api/chat/ws", "/ws/chat", "/chat"} {
		out = append(out, steps.Place{Driver: target.WS, Path: path, Say: say})
	}
	return out
}

// Probe implements steps.Prober: a ping, and a chat without agent_id, which is refused (SC-030).
func (Protocol) Probe(env *steps.Env, run target.Running) (driver.OpenOptions, []driver.Message, error) {
	s := &suite{World: &steps.World{Env: env}, bind: newCodec(env.Profile, run.BaseURL())}
	ping, err := s.bind.message(vocab.PingType, nil)
	if err != nil {
		return driver.OpenOptions{}, nil, err
	}
	chat, err := s.bind.message(vocab.ChatType, fields{"content": "parley-hello"})
	o := driver.OpenOptions{Party: "probe", URL: s.bind.url(), Header: s.header()}
	o.MaxEvent = int(env.Profile.Limits.MaxEvent)
	return o, []driver.Message{ping, chat}, err
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "session-chat.ws.path" }
