package relays

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// sessionFaults mix relay sessions, or take the study session for one.
var sessionFaults = map[string]fault{
	"sessions-are-one": deciding(func() rules { return rules{key: func(proto.Join) string { return "all" }} }),
	"sessions-of-8-characters": deciding(func() rules {
		return rules{key: func(j proto.Join) string { return j.SessionID[:min(8, len(j.SessionID))] }}
	}),
	"states-leak":                 leaking(proto.StateUpdated),
	"users-words-leak":            leaking(proto.UserMessage),
	"answers-leak":                leaking(proto.SessionStarted, proto.SnapshotState, proto.ToolResult, proto.SessionEnded, proto.ErrorMessage),
	"agents-heard-by-other-hosts": deciding(otherHostsHear),
	"hosts-of-the-latest-session": deciding(latestHost),
	"one-session-at-a-time":       hearing(oneSession),
	"routes-by-payload-session":   deciding(byPayloadSession),
	"moves-to-the-study-session":  deciding(movesToStudy),
	"started-session-filled-in":   passing(relaySessionInside, proto.SessionStarted),
	"snapshot-session-filled-in":  passing(relaySessionInside, proto.SnapshotState),
	"ended-session-filled-in":     passing(relaySessionInside, proto.SessionEnded),
}

// oneSession has one relay session: who joins another ends the connections of those in it. To refuse the join instead would
// depend on how soon it is known that those of the session before have left.
func oneSession() relay.Inbound {
	return func(v view, from party, f frame) []frame {
		if e := relay.Read(f); isJoin(e) {
			session, _ := e.Payload().Text("sessionId")
			for _, p := range v.Parties() {
				if p.Session != "" && p.Session != session {
					v.End(p.Conn, goodbye)
				}
			}
		}
		return []frame{f}
	}
}

// leaking sends some messages of hosts to the agents of other relay sessions too, and to these first.
func leaking(types ...string) fault {
	return deciding(func() rules {
		return rules{recipients: func(v view, from party, e *envelope) []party {
			to := correct.Recipients(v, from, e)
			if !isHost(from) || !ofType(e, types...) {
				return to
			}
			var out []party
			for _, p := range v.Parties() {
				if isAgent(p) && p.Session != from.Session {
					out = append(out, p)
				}
			}
			return append(out, to...)
		}}
	})
}

// otherHostsHear sends what agents say to all hosts.
func otherHostsHear() rules {
	return rules{recipients: func(v view, from party, e *envelope) []party {
		to := correct.Recipients(v, from, e)
		if !isAgent(from) || len(to) == 0 {
			return to
		}
		out := slices.DeleteFunc(v.Parties(), func(p party) bool { return !isHost(p) || p == to[0] })
		return append(out, to...)
	}}
}

// latestHost sends what agents say to the host that has joined last, whichever its session.
func latestHost() rules {
	latest := party{}
	return rules{
		joined: func(_ view, to party, _ *envelope, msg message, _ proto.Join) message {
			if isHost(to) {
				latest = to
			}
			return msg
		},
		recipients: func(v view, from party, e *envelope) []party {
			to := correct.Recipients(v, from, e)
			if isAgent(from) && len(to) > 0 && latest.Conn > 0 {
				return []party{latest}
			}
			return to
		},
	}
}

// byPayloadSession sends what has a sessionId to those of that session.
func byPayloadSession() rules {
	return rules{recipients: func(v view, from party, e *envelope) []party {
		if session, ok := e.Payload().Text("sessionId"); ok && isHost(from) {
			return v.Agents(session)
		}
		return correct.Recipients(v, from, e)
	}}
}

// movesToStudy puts an agent into the session that session.started names, where no host is.
func movesToStudy() rules {
	moved := map[int]bool{}
	return rules{
		recipients: func(v view, from party, e *envelope) []party {
			to := correct.Recipients(v, from, e)
			switch {
			case isAgent(from) && moved[from.Conn]:
				return nil
			case isHost(from) && e.Type() == proto.SessionStarted:
				for _, p := range to {
					moved[p.Conn] = true
				}
			}
			return to
		},
	}
}

// relaySessionInside fills in the session that the relay knows.
func relaySessionInside(m members) {
	inPayload(func(p members) { p["sessionId"] = jsontext.Value(`"` + proto.DefaultSession + `"`) })(m)
}
