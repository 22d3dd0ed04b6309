package mutants

import (
	"slices"
	"strings"
	"sync"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
	"parley/reference-server/externalagent/wire"
)

// sessionFaults get wrong who is in a relay session, or who gets which message.
var sessionFaults = map[string]fault{
	"states-cross-sessions":     likeRelay("states-leak"),
	"answers-cross-sessions":    likeRelay("answers-leak"),
	"sessions-by-prefix":        inRelay(byPrefix),
	"answers-to-latest-agent":   likeRelay("answers-to-the-last-agent"),
	"states-to-first-agent":     likeRelay("states-to-the-first-agent"),
	"states-to-latest-agent":    likeRelay("states-to-the-last-agent"),
	"states-to-caller":          likeRelay("states-to-the-latest-asker"),
	"moves-to-study-session":    likeRelay("moves-to-the-study-session"),
	"closes-behind-results":     likeRelay("closes-behind-a-result"),
	"closes-behind-snapshots":   likeRelay("closes-behind-a-snapshot"),
	"closes-behind-errors":      inRelay(relaymutants.ClosingAfter(proto.ErrorMessage)),
	"deaf-behind-errors":        inRelay(deafAfterErrors),
	"replies-name-latest-asked": inRelay(repliesToLatest(func(message) bool { return true }, isAnswer)),
	"results-name-latest-call":  inRelay(repliesToLatest(isKnownCall, isResult)),
}

// byPrefix puts a party into a session whose name is a prefix of its own.
func byPrefix(o *relay.Options) {
	var known []string
	o.Policy.Key = func(session string) string {
		for _, k := range known {
			if strings.HasPrefix(session, k) {
				return k
			}
		}
		known = append(known, session)
		return session
	}
}

// deafAfterErrors ignores an agent once it has refused a request of that agent.
func deafAfterErrors(o *relay.Options) {
	deaf := map[int]bool{}
	o.Inbound = func(_ relayView, from party, in frame) []frame {
		if deaf[from.Conn] {
			return nil
		}
		return []frame{in}
	}
	o.Outbound = func(_ relayView, _, to party, data []byte, send func(int, []byte)) {
		if wire.Read(data)["type"] == proto.ErrorMessage && to.Role == proto.AgentRole {
			deaf[to.Conn] = true
		}
		send(to.Conn, data)
	}
}

// repliesToLatest delays some replies and names the latest of some requests in them.
func repliesToLatest(request, reply func(msg message) bool) func(o *relay.Options) {
	const pause = 40 * time.Millisecond
	return func(o *relay.Options) {
		var mu sync.Mutex
		latest := map[int]string{}
		o.Inbound = func(_ relayView, from party, in frame) []frame {
			msg := message(wire.Read(in.Data))
			if id, ok := msg["id"].(string); ok && !from.Attached && request(msg) {
				mu.Lock()
				defer mu.Unlock()
				latest[from.Conn] = id
			}
			return []frame{in}
		}
		o.Outbound = func(_ relayView, from, to party, data []byte, send func(int, []byte)) {
			msg := message(wire.Read(data))
			if !reply(msg) || from.Role != proto.HostRole {
				send(to.Conn, data)
				return
			}
			time.AfterFunc(pause, func() {
				mu.Lock()
				defer mu.Unlock()
				send(to.Conn, wire.Encode(msg.With("replyTo", latest[to.Conn])))
			})
		}
	}
}

// isKnownCall reports whether a request calls a tool that the host has.
func isKnownCall(msg message) bool {
	return slices.Contains(saysOkOnly, toolOf(msg)) || slices.Contains(hasQuickUI, toolOf(msg))
}

func isResult(msg message) bool { return msg.Type() == proto.ToolResult }
