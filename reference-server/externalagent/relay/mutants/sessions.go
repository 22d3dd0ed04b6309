package mutants

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
)

// sessionFaults mix up relay sessions, or confuse them with study sessions.
var sessionFaults = map[string]fault{
	"sessions-are-one":         keyed(func(string) string { return "all" }),
	"sessions-of-8-characters": keyed(func(id string) string { return id[:min(8, len(id))] }),
	"states-leak":              leaking(proto.StateUpdated),
	"users-words-leak":         leaking(proto.UserMessage),
	"answers-leak": leaking(proto.SessionStarted, proto.SnapshotState, proto.ToolResult,
		proto.SessionEnded, proto.ErrorMessage),
	"agents-heard-by-other-hosts": routing(otherHostsHear),
	"hosts-of-the-latest-session": latestHost,
	// Refusing the join instead would depend on how soon the relay notices that the previous session's parties have
	// left.
	"one-session-at-a-time": endingAtJoin(func(p, _ party, session string) bool {
		return p.Session != "" && p.Session != session
	}),

	"routes-by-payload-session":  routing(byPayloadSession),
	"moves-to-the-study-session": movesToStudy,
	"started-session-filled-in":  passing(relaySessionInside, proto.SessionStarted),
	"snapshot-session-filled-in": passing(relaySessionInside, proto.SnapshotState),
	"ended-session-filled-in":    passing(relaySessionInside, proto.SessionEnded),
}

func keyed(f func(sessionID string) string) fault {
	return func(o *options) { o.Policy.Key = f }
}

// leaking also sends some host messages to agents of other relay sessions, and to these first.
func leaking(types ...string) fault {
	return routing(func(v view, from party, e *envelope, to []party) []party {
		if !isHost(from) || !ofType(e, types...) {
			return to
		}
		others := slices.DeleteFunc(v.Parties(), func(p party) bool { return !isAgent(p) || p.Session == from.Session })
		return append(others, to...)
	})
}

// otherHostsHear sends agents' messages to all hosts.
func otherHostsHear(v view, from party, _ *envelope, to []party) []party {
	if !isAgent(from) || len(to) == 0 {
		return to
	}
	others := slices.DeleteFunc(v.Parties(), func(p party) bool { return !isHost(p) || p == to[0] })
	return append(others, to...)
}

// latestHost sends agents' messages to the host that joined last, in any session.
func latestHost(o *options) {
	latest := party{}
	o.Policy.Joined = func(_ view, to party, _ proto.Join, msg message) message {
		if isHost(to) {
			latest = to
		}
		return msg
	}
	o.Policy.Recipients = func(_ view, from party, _ *envelope, to []party) []party {
		if isAgent(from) && len(to) > 0 && latest.Conn > 0 {
			return []party{latest}
		}
		return to
	}
}

// byPayloadSession sends a message with a sessionId in its payload to the agents of that session.
func byPayloadSession(v view, from party, e *envelope, to []party) []party {
	if session, ok := e.Payload().Text("sessionId"); ok && isHost(from) {
		return v.Agents(session)
	}
	return to
}

// movesToStudy moves an agent to the session named in session.started, which has no host.
func movesToStudy(o *options) {
	moved := map[int]bool{}
	o.Policy.Recipients = func(_ view, from party, e *envelope, to []party) []party {
		switch {
		case moved[from.Conn]:
			return nil
		case isHost(from) && e.Type() == proto.SessionStarted:
			for _, p := range to {
				moved[p.Conn] = true
			}
		}
		return to
	}
}

// relaySessionInside adds the relay session to the payload.
func relaySessionInside(m members) {
	inPayload(func(p members) { p["sessionId"] = jsontext.Value(`"` + proto.DefaultSession + `"`) })(m)
}
