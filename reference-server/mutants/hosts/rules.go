package hosts

import (
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// rules decide as a host correctly, but for the functions that are given.
type rules struct {
	host.Correct
	connected func(v view, again bool) keep
	accept    func(v view, msg message) *refusal
	ready     func(v view, msg message) *refusal
	tools     func(v view) []tool
	announced func(v view, announced []tool, name string) (tool, *refusal)
	params    func(v view, t tool, params object) *refusal
	execute   func(v view, c call, run func() *refusal) *refusal
	result    func(v view, c call) object
	updates   func(v view, msg message) bool
	state     func(v view, in host.Part) state
	refused   func(v view, request message, r refusal) message
	reset     func(v view) keep
	record    func(v view, e entry) []entry
}

var _ host.Policy = rules{}

func (r rules) Connected(v view, again bool) keep {
	if r.connected == nil {
		return r.Correct.Connected(v, again)
	}
	return r.connected(v, again)
}

func (r rules) Accept(v view, msg message) *refusal {
	if r.accept == nil {
		return r.Correct.Accept(v, msg)
	}
	return r.accept(v, msg)
}

func (r rules) Ready(v view, msg message) *refusal {
	if r.ready == nil {
		return r.Correct.Ready(v, msg)
	}
	return r.ready(v, msg)
}

func (r rules) Tools(v view) []tool {
	if r.tools == nil {
		return r.Correct.Tools(v)
	}
	return r.tools(v)
}

func (r rules) Announced(v view, announced []tool, name string) (tool, *refusal) {
	if r.announced == nil {
		return r.Correct.Announced(v, announced, name)
	}
	return r.announced(v, announced, name)
}

func (r rules) Params(v view, t tool, params object) *refusal {
	if r.params == nil {
		return r.Correct.Params(v, t, params)
	}
	return r.params(v, t, params)
}

func (r rules) Execute(v view, c call, run func() *refusal) *refusal {
	if r.execute == nil {
		return r.Correct.Execute(v, c, run)
	}
	return r.execute(v, c, run)
}

func (r rules) Result(v view, c call) object {
	if r.result == nil {
		return r.Correct.Result(v, c)
	}
	return r.result(v, c)
}

func (r rules) Updates(v view, msg message) bool {
	if r.updates == nil {
		return r.Correct.Updates(v, msg)
	}
	return r.updates(v, msg)
}

func (r rules) State(v view, in host.Part) state {
	if r.state == nil {
		return r.Correct.State(v, in)
	}
	return r.state(v, in)
}

func (r rules) Refused(v view, request message, why refusal) message {
	if r.refused == nil {
		return r.Correct.Refused(v, request, why)
	}
	return r.refused(v, request, why)
}

func (r rules) Reset(v view) keep {
	if r.reset == nil {
		return r.Correct.Reset(v)
	}
	return r.reset(v)
}

func (r rules) Record(v view, e entry) []entry {
	if r.record == nil {
		return r.Correct.Record(v, e)
	}
	return r.record(v, e)
}

// relayRules decide as a relay correctly, but for the functions that are given.
type relayRules struct {
	relay.Correct
	checks     func(from party) []relay.Check
	join       func(r relayState, from party, e *envelope) (relayJoin, *relay.Refusal)
	key        func(j relayJoin) string
	joined     func(e *envelope, j relayJoin) relay.Message
	unjoined   func() *relay.Refusal
	recipients func(r relayState, from party, e *envelope) []party
	failure    func(about relay.Request, why relay.Refusal) relay.Message
}

var _ relay.Policy = relayRules{}

func (r relayRules) Checks(from party) []relay.Check {
	if r.checks == nil {
		return r.Correct.Checks(from)
	}
	return r.checks(from)
}

func (r relayRules) Join(s relayState, from party, e *envelope) (relayJoin, *relay.Refusal) {
	if r.join == nil {
		return r.Correct.Join(s, from, e)
	}
	return r.join(s, from, e)
}

func (r relayRules) Key(j relayJoin) string {
	if r.key == nil {
		return r.Correct.Key(j)
	}
	return r.key(j)
}

func (r relayRules) Joined(s relayState, to party, e *envelope, j relayJoin) relay.Message {
	if r.joined == nil {
		return r.Correct.Joined(s, to, e, j)
	}
	return r.joined(e, j)
}

func (r relayRules) Unjoined(s relayState, from party, e *envelope) *relay.Refusal {
	if r.unjoined == nil {
		return r.Correct.Unjoined(s, from, e)
	}
	return r.unjoined()
}

func (r relayRules) Recipients(s relayState, from party, e *envelope) []party {
	if r.recipients == nil {
		return r.Correct.Recipients(s, from, e)
	}
	return r.recipients(s, from, e)
}

func (r relayRules) Error(s relayState, to party, about relay.Request, why relay.Refusal) relay.Message {
	if r.failure == nil {
		return r.Correct.Error(s, to, about, why)
	}
	return r.failure(about, why)
}
