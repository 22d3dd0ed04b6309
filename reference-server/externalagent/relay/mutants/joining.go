package mutants

import (
	"cmp"

	"github.com/go-json-experiment/json"

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
