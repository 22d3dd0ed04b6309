package mutants

import (
	"slices"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
)

// limitFaults serve fewer sessions than there are, or one connection of a session at a time.
var limitFaults = map[string]fault{
	"evicts-what-runs":      evictsRunning,
	"ninth-session-refused": ninthRefused,
	"ninth-session-ignored": ninthIgnored,
	"connection-closes-former": closesFormer(func(m manager, _ string, ids []string) bool {
		return slices.ContainsFunc(ids, m.Running)
	}),
	"chat-closes-busy-connection": closesFormer(func(m manager, id string, _ []string) bool { return m.Running(id) }),
}

// evictsRunning keeps the sixteen sessions of a connection that were used last, and drops what the others still say.
func evictsRunning(o *options) {
	kept := used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		if id := asked(msg); id != "" {
			ids := append(slices.DeleteFunc(kept[from.ID], func(other string) bool { return other == id }), id)
			kept[from.ID] = ids[max(0, len(ids)-16):]
		}
	})
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if !ofTurn(msg) || slices.Contains(kept[to.ID], agentOf(msg)) {
			send(to.ID, msg)
		}
	}
}

// ninth reports whether a chat begins another session of a connection that has used eight, and notes it if not.
func (u used) ninth(from connInfo, msg message) bool {
	id := asked(msg)
	if id == "" || slices.Contains(u[from.ID], id) {
		return false
	}
	if len(u[from.ID]) >= 8 {
		return true
	}
	u.note(from, msg)
	return false
}

func ninthRefused(o *options) {
	ids := used{}
	o.Policy.Accept = refusing(proto.Overloaded, "this connection has eight sessions already",
		func(_ manager, c connInfo, msg message) bool { return ids.ninth(c, msg) })
}

func ninthIgnored(o *options) {
	ids := used{}
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		if ids.ninth(from, msg) {
			return nil
		}
		return []message{msg}
	}
}

// closesFormer closes the connection that used a session before, if an answer is on its way there.
func closesFormer(busy func(m manager, id string, ids []string) bool) fault {
	return func(o *options) {
		holders, ids := map[string]string{}, used{}
		o.Inbound = noting(func(m manager, from connInfo, msg message) {
			id := asked(msg)
			if id == "" {
				return
			}
			if former := holders[id]; former != "" && former != from.ID && busy(m, id, ids[former]) {
				m.End(former, websocket.StatusPolicyViolation, "this session is open elsewhere")
			}
			holders[id] = from.ID
			ids.note(from, msg)
		})
	}
}
