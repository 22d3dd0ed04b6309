package relays

import (
	"slices"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// joiningFaults take joins that are none, or refuse them otherwise than by INVALID_MESSAGE.
var joiningFaults = map[string]fault{
	"join-v-unchecked":          unchecked(relay.CheckV, func(*envelope) bool { return true }),
	"join-v-checked-if-there":   unchecked(relay.CheckV, func(e *envelope) bool { return !e.Has("v") }),
	"join-v-checked-if-text":    unchecked(relay.CheckV, func(e *envelope) bool { _, isText := e.Text("v"); return e.Has("v") && !isText }),
	"join-v-of-the-family":      unchecked(relay.CheckV, func(e *envelope) bool { v, _ := e.Text("v"); return len(v) > 4 && v[:4] == proto.Version[:4] }),
	"join-v-another-code":       joinRefusedWith("VERSION_MISMATCH", badV),
	"join-v-unanswered":         joinUnanswered(badV),
	"join-payload-unchecked":    joinsByDefault(func(*envelope) bool { return true }),
	"join-payload-by-default":   joinsByDefault(func(e *envelope) bool { return !e.Has("payload") }),
	"join-payload-null-taken":   joinsByDefault(func(e *envelope) bool { return e.Has("payload") && payloadKind(e) == 'n' }),
	"join-payload-list-taken":   joinsByDefault(func(e *envelope) bool { return payloadKind(e) == '[' }),
	"join-payload-another-code": joinRefusedWith("JOIN_FAILED", badPayload),
	"join-payload-unanswered":   joinUnanswered(badPayload),
	"joins-who-speaks-first":    hearing(joinsWhoSpeaks),
}

func badV(e *envelope) bool { v, _ := e.Text("v"); return v != proto.Version }

func badPayload(e *envelope) bool { return e.Payload() == nil }

// payloadKind is the first byte of the payload's text; 0 where it can't be told.
func payloadKind(e *envelope) byte {
	var m members
	if json.Unmarshal(e.Raw, &m) != nil || len(m["payload"]) == 0 {
		return 0
	}
	return m["payload"][0]
}

// isJoin tells whether an envelope asks to join, whatever else is wrong with it.
func isJoin(e *envelope) bool { return e.Fault == "" && e.Type() == proto.RelayJoin }

// unchecked leaves out one check for some joins.
func unchecked(name string, which func(e *envelope) bool) fault {
	return deciding(func() rules {
		return rules{checks: func(party) []relay.Check { return without(name, which) }}
	})
}

func without(name string, which func(e *envelope) bool) []relay.Check {
	all := relay.Checks()
	i := slices.IndexFunc(all, func(c relay.Check) bool { return c.Name == name })
	judge := all[i].Judge
	all[i].Judge = func(from party, e *envelope) *refusal {
		if isJoin(e) && which(e) {
			return nil
		}
		return judge(from, e)
	}
	return all
}

// joinsByDefault takes some joins without a payload for those of an agent of the session that was joined last.
func joinsByDefault(which func(e *envelope) bool) fault {
	return deciding(func() rules {
		last := proto.DefaultSession
		return rules{
			checks: func(party) []relay.Check { return without(relay.CheckPayload, which) },
			join: func(v view, from party, e *envelope) (proto.Join, *refusal) {
				if badPayload(e) {
					return proto.Join{Role: proto.AgentRole, SessionID: last}, nil
				}
				j, why := correct.Join(v, from, e)
				if why == nil {
					last = j.SessionID
				}
				return j, why
			},
		}
	})
}

// joinRefusedWith refuses some joins with a code of its own.
func joinRefusedWith(code string, which func(e *envelope) bool) fault {
	return deciding(func() rules {
		return rules{checks: func(party) []relay.Check {
			own := relay.Check{Name: "join", Judge: func(_ party, e *envelope) *refusal {
				if isJoin(e) && which(e) {
					return &refusal{Code: code, Text: "the join is refused"}
				}
				return nil
			}}
			return slices.Insert(relay.Checks(), 0, own)
		}}
	})
}

// joinUnanswered drops some joins.
func joinUnanswered(which func(e *envelope) bool) fault {
	return hearing(func() relay.Inbound {
		return func(_ view, _ party, f frame) []frame {
			if e := relay.Read(f); isJoin(e) && which(e) {
				return nil
			}
			return []frame{f}
		}
	})
}

// joinsWhoSpeaks has who speaks without having joined join the session that was joined last.
func joinsWhoSpeaks() relay.Inbound {
	last := proto.DefaultSession
	return func(_ view, from party, f frame) []frame {
		e := relay.Read(f)
		switch {
		case isJoin(e):
			if session, ok := e.Payload().Text("sessionId"); ok {
				last = session
			}
		case from.Role == "" && e.Fault == "":
			join := message{"v": proto.Version, "type": proto.RelayJoin, "id": "join-by-speaking", "payload": object{"role": proto.AgentRole, "sessionId": last}}
			return []frame{{Data: join.Encode()}, f}
		}
		return []frame{f}
	}
}
