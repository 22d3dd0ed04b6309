package mutants

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

// joiningFaults accept malformed joins, or refuse them with something other than INVALID_MESSAGE.
var joiningFaults = map[string]fault{
	"join-v-unchecked":        unchecked(relay.CheckV, func(*envelope) bool { return true }),
	"join-v-checked-if-there": unchecked(relay.CheckV, func(e *envelope) bool { return !e.Has("v") }),
	"join-v-checked-if-text": unchecked(relay.CheckV, func(e *envelope) bool {
		_, isText := e.Text("v")
		return e.Has("v") && !isText
	}),
	"join-v-of-the-family": unchecked(relay.CheckV, func(e *envelope) bool {
		v, _ := e.Text("v")
		return len(v) > 4 && v[:4] == proto.Version[:4]
	}),
	"join-v-another-code": joinRecoded(relay.CheckV, "VERSION_MISMATCH"),
	"join-v-unanswered": dropping(func(e *envelope) bool {
		v, _ := e.Text("v")
		return isJoin(e) && v != proto.Version
	}),
	"join-payload-unchecked":    joinsByDefault(func(*envelope) bool { return true }),
	"join-payload-by-default":   joinsByDefault(func(e *envelope) bool { return !e.Has("payload") }),
	"join-payload-null-taken":   joinsByDefault(func(e *envelope) bool { return payloadKind(e) == 'n' }),
	"join-payload-list-taken":   joinsByDefault(func(e *envelope) bool { return payloadKind(e) == '[' }),
	"join-payload-another-code": joinRecoded(relay.CheckPayload, "JOIN_FAILED"),
	"join-payload-unanswered":   dropping(func(e *envelope) bool { return isJoin(e) && e.Payload() == nil }),
	"joins-who-speaks-first":    JoinsWhoSends("", func(string) bool { return true }),
	"joins-who-starts-session":  JoinsWhoSends("", func(kind string) bool { return kind == proto.SessionStart }),
}

// payloadKind returns the first byte of the payload's text; 0 if there is none.
func payloadKind(e *envelope) byte {
	var m members
	if json.Unmarshal(e.Raw, &m) != nil || len(m["payload"]) == 0 {
		return 0
	}
	return m["payload"][0]
}

// unchecked skips one check for some joins.
func unchecked(check string, which func(e *envelope) bool) fault {
	return checking(func(name string, _ party, e *envelope, why *refusal) *refusal {
		if name == check && isJoin(e) && which(e) {
			return nil
		}
		return why
	})
}

// joinRecoded refuses joins that fail a check with another code.
func joinRecoded(check, code string) fault {
	return checking(func(name string, _ party, e *envelope, why *refusal) *refusal {
		if name == check && why != nil && isJoin(e) {
			return &refusal{Code: code, Text: "the join is refused"}
		}
		return why
	})
}

// joinsByDefault treats some joins without a payload as agents joining the last joined session.
func joinsByDefault(which func(e *envelope) bool) fault {
	return func(o *options) {
		last := proto.DefaultSession
		unchecked(relay.CheckPayload, which)(o)
		o.Policy.Join = func(_ view, _ party, e *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
			if e.Payload() == nil {
				return proto.Join{Role: proto.AgentRole, SessionID: last}, nil
			}
			if why == nil {
				last = j.SessionID
			}
			return j, why
		}
	}
}

// JoinsWhoSends treats a party that sends messages of some types without joining as an agent of a session; "" means
// the last joined one.
func JoinsWhoSends(session string, which func(kind string) bool) fault {
	return func(o *options) {
		last := cmp.Or(session, proto.DefaultSession)
		hearing(func(_ view, from party, f frame, e *envelope) []frame {
			switch {
			case isJoin(e):
				if named, ok := e.Payload().Text("sessionId"); ok && session == "" {
					last = named
				}
			case from.Role == "" && e.Fault == "" && which(e.Type()):
				join := wire.New(proto.RelayJoin, object{"role": proto.AgentRole, "sessionId": last}).With("id", "join-by-speaking")
				return []frame{{Data: wire.Encode(join)}, f}
			}
			return []frame{f}
		})(o)
	}
}

// joinedFaults send a wrong relay.joined.
var joinedFaults = map[string]fault{
	"joined-reply-to-numbers":      joinedAs(replyToNumber),
	"joined-said-to-the-host-only": joinedToTheHost,
}

// replyToNumber turns an id that looks like a number into one.
func replyToNumber(msg message) message {
	id, _ := msg["replyTo"].(string)
	if n, err := strconv.Atoi(id); err == nil {
		return msg.With("replyTo", n)
	}
	return msg
}

// joinedToTheHost sends the reply to an agent's join to the host.
func joinedToTheHost(o *options) {
	o.Policy.Joined = func(v view, to party, _ proto.Join, msg message) message {
		if host, ok := v.Host(to.Session); ok && isAgent(to) {
			v.Send(host.Conn, wire.Encode(msg))
			return nil
		}
		return msg
	}
}

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
