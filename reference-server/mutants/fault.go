package mutants

import (
	"net/http"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// Short names for what every fault handles.
type (
	manager   = agentselect.Manager
	connInfo  = agentselect.ConnInfo
	message   = agentselect.Message
	event     = agentselect.Event
	eventData = agentselect.EventData
	agent     = agentselect.Agent
	refusal   = agentselect.Refusal
	options   = agentselect.Options
	sender    = func(connID string, ev event)
)

// correct is what a fault falls back on.
var correct agentselect.Correct

// fault puts itself into the options of a server, and returns what is to be wrapped around its handler, or nil. What it
// remembers it makes anew at each call: it is that of one server.
type fault func(o *options) middleware

type middleware func(http.Handler) http.Handler

// both is two halves of one fault.
func both(a, b fault) fault {
	return func(o *options) middleware {
		wrapA, wrapB := a(o), b(o)
		switch {
		case wrapA == nil:
			return wrapB
		case wrapB == nil:
			return wrapA
		}
		return func(h http.Handler) http.Handler { return wrapA(wrapB(h)) }
	}
}

// receiving is a fault in how messages are taken.
func receiving(f func(m manager, from connInfo, msg message) []message) fault {
	return func(o *options) middleware {
		o.Inbound = f
		return nil
	}
}

// misreading changes messages of a type.
func misreading(kind string, f func(msg message)) fault {
	return receiving(func(_ manager, _ connInfo, msg message) []message {
		if msg["type"] == kind {
			f(msg)
		}
		return []message{msg}
	})
}

// telling is a fault in how events are told.
func telling(f func(m manager, to connInfo, ev event, send sender)) fault {
	return func(o *options) middleware {
		o.Outbound = f
		return nil
	}
}

// rewriting changes the data of events of a type.
func rewriting(kind string, f func(d eventData) eventData) fault {
	return telling(func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == kind {
			ev.Data = f(ev.Data)
		}
		send(to.ID, ev)
	})
}

// refusing changes the refusals of some codes, of all without one.
func refusing(f func(d eventData) eventData, codes ...string) fault {
	return telling(func(_ manager, to connInfo, ev event, send sender) {
		if isRefusal(ev, codes...) {
			ev.Data = f(ev.Data)
		}
		send(to.ID, ev)
	})
}

// isRefusal tells the refusal of a switch from other errors, which have no code.
func isRefusal(ev event, codes ...string) bool {
	code, coded := ev.Data["errorCode"]
	if ev.Type != proto.ErrorEvent || !coded {
		return false
	}
	for _, c := range codes {
		if c == code {
			return true
		}
	}
	return len(codes) == 0
}

// deciding is a fault in the decisions; make is called once per server.
func deciding(make func(o options) rules) fault {
	return func(o *options) middleware {
		o.Policy = make(*o)
		return nil
	}
}

// rules decide correctly, but for the functions that are given.
type rules struct {
	agents    func(why agentselect.Purpose, now []agent) []agent
	initial   func(c connInfo) string
	checkID   func(raw any) *refusal
	target    func(m manager, c connInfo, raw any, present bool) string
	agentKey  func(session, conn string) string
	busy      func(m manager, session string) bool
	bind      func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding
	commit    func(sw agentselect.Switch, set func(string))
	configure func(t agentselect.TurnView) agentselect.Config
	abort     func() agentselect.AbortEffect
}

var _ agentselect.Policy = rules{}

func (r rules) Agents(why agentselect.Purpose, now []agent) []agent {
	if r.agents == nil {
		return correct.Agents(why, now)
	}
	return r.agents(why, now)
}

func (r rules) InitialAgent(c connInfo) string {
	if r.initial == nil {
		return correct.InitialAgent(c)
	}
	return r.initial(c)
}

func (r rules) CheckID(raw any) *refusal {
	if r.checkID == nil {
		return correct.CheckID(raw)
	}
	return r.checkID(raw)
}

func (r rules) Target(m manager, c connInfo, raw any, present bool) string {
	if r.target == nil {
		return correct.Target(m, c, raw, present)
	}
	return r.target(m, c, raw, present)
}

func (r rules) AgentKey(session, conn string) string {
	if r.agentKey == nil {
		return correct.AgentKey(session, conn)
	}
	return r.agentKey(session, conn)
}

func (r rules) Busy(m manager, session string) bool {
	if r.busy == nil {
		return correct.Busy(m, session)
	}
	return r.busy(m, session)
}

func (r rules) Bind(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
	if r.bind == nil {
		return correct.Bind(m, how, c, session)
	}
	return r.bind(m, how, c, session)
}

func (r rules) Commit(sw agentselect.Switch, set func(string)) {
	if r.commit == nil {
		correct.Commit(sw, set)
		return
	}
	r.commit(sw, set)
}

func (r rules) Configure(t agentselect.TurnView) agentselect.Config {
	if r.configure == nil {
		return correct.Configure(t)
	}
	return r.configure(t)
}

func (r rules) Abort() agentselect.AbortEffect {
	if r.abort == nil {
		return correct.Abort()
	}
	return r.abort()
}
