package relays

import (
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// Short names for what every fault handles.
type (
	view     = relay.Relay
	party    = relay.Party
	envelope = relay.Envelope
	frame    = relay.Frame
	message  = relay.Message
	request  = relay.Request
	refusal  = relay.Refusal
	options  = relay.Options
	sender   = func(conn int, frame []byte)
	object   = map[string]any
)

// correct is what a fault falls back on.
var correct relay.Correct

// fault puts itself into the options of a relay. What it remembers it makes anew at each call: it is that of one relay. It
// needs no lock of its own, as the relay has one.
type fault func(o *options)

// deciding is a fault in the decisions; make is called once per relay.
func deciding(make func() rules) fault {
	return func(o *options) { o.Policy = make() }
}

// hearing is a fault in how frames are taken; make is called once per relay.
func hearing(make func() relay.Inbound) fault {
	return func(o *options) { o.Inbound = make() }
}

// telling is a fault in how frames are sent; make is called once per relay.
func telling(make func() relay.Outbound) fault {
	return func(o *options) { o.Outbound = make() }
}

// rules decide correctly, but for the functions that are given.
type rules struct {
	relay.Correct
	checks     func(from party) []relay.Check
	join       func(v view, from party, e *envelope) (proto.Join, *refusal)
	key        func(j proto.Join) string
	joined     func(v view, to party, e *envelope, msg message, j proto.Join) message
	unjoined   func(v view, from party, e *envelope) *refusal
	recipients func(v view, from party, e *envelope) []party
	pass       func(from, to party, e *envelope) []byte
	absent     func(v view, from party, e *envelope) *refusal
	gone       func(v view, session string)
	failure    func(about request, why refusal, msg message) message
	ends       func(from party, e *envelope) *websocket.CloseError
}

var _ relay.Policy = rules{}

func (r rules) Checks(from party) []relay.Check {
	if r.checks == nil {
		return r.Correct.Checks(from)
	}
	return r.checks(from)
}

func (r rules) Join(v view, from party, e *envelope) (proto.Join, *refusal) {
	if r.join == nil {
		return r.Correct.Join(v, from, e)
	}
	return r.join(v, from, e)
}

func (r rules) Key(j proto.Join) string {
	if r.key == nil {
		return r.Correct.Key(j)
	}
	return r.key(j)
}

func (r rules) Joined(v view, to party, e *envelope, j proto.Join) message {
	msg := r.Correct.Joined(v, to, e, j)
	if r.joined == nil {
		return msg
	}
	return r.joined(v, to, e, msg, j)
}

func (r rules) Unjoined(v view, from party, e *envelope) *refusal {
	if r.unjoined == nil {
		return r.Correct.Unjoined(v, from, e)
	}
	return r.unjoined(v, from, e)
}

func (r rules) Recipients(v view, from party, e *envelope) []party {
	if r.recipients == nil {
		return r.Correct.Recipients(v, from, e)
	}
	return r.recipients(v, from, e)
}

func (r rules) Pass(from, to party, e *envelope) []byte {
	if r.pass == nil {
		return r.Correct.Pass(from, to, e)
	}
	return r.pass(from, to, e)
}

func (r rules) HostAbsent(v view, from party, e *envelope) *refusal {
	if r.absent == nil {
		return r.Correct.HostAbsent(v, from, e)
	}
	return r.absent(v, from, e)
}

func (r rules) HostGone(v view, session string, outstanding []request) ([]request, refusal) {
	if r.gone != nil {
		r.gone(v, session)
	}
	return r.Correct.HostGone(v, session, outstanding)
}

func (r rules) Error(v view, to party, about request, why refusal) message {
	msg := r.Correct.Error(v, to, about, why)
	if r.failure == nil {
		return msg
	}
	return r.failure(about, why, msg)
}

func (r rules) Ends(v view, from party, e *envelope, why refusal) *websocket.CloseError {
	if r.ends == nil {
		return r.Correct.Ends(v, from, e, why)
	}
	return r.ends(from, e)
}

// members are those of a JSON object, their values as they were written.
type members = map[string]jsontext.Value

// edited is an object with other members, or the text as it is if it is none.
func edited(raw []byte, f func(m members)) []byte {
	var m members
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return raw
	}
	f(m)
	return encoded(m)
}

// encoded is a value as JSON.
func encoded(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // a value of ours
	}
	return data
}

// inPayload edits the members of an envelope's payload.
func inPayload(f func(p members)) func(m members) {
	return func(m members) { m["payload"] = edited(m["payload"], f) }
}

// passing changes the envelopes of some types that are passed on; of all, without any.
func passing(f func(m members), types ...string) fault {
	return deciding(func() rules {
		return rules{pass: func(_, _ party, e *envelope) []byte {
			if !ofType(e, types...) {
				return e.Raw
			}
			return edited(e.Raw, f)
		}}
	})
}

// ofType tells whether an envelope is of one of the types; of any, without some.
func ofType(e *envelope, types ...string) bool {
	for _, t := range types {
		if e.Type() == t {
			return true
		}
	}
	return len(types) == 0
}

// isAgent tells whether a party has joined as an agent.
func isAgent(p party) bool { return p.Role == proto.AgentRole }

// isHost tells whether a party has joined as a host.
func isHost(p party) bool { return p.Role == proto.HostRole }
