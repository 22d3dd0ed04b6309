package mutants

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// envelopeFaults send malformed relay messages or frames.
var envelopeFaults = map[string]fault{
	"joined-in-a-list": wrapping(own(proto.RelayJoined), func(data string) string { return "[" + data + "]" }),
	"joined-members-twice": wrapping(own(proto.RelayJoined), func(data string) string {
		return `{"v":"mvp-0.2",` + data[1:]
	}),
	"joined-and-a-list": wrapping(own(proto.RelayJoined), func(data string) string {
		return data + `{"v":"mvp-0.2","type":"relay.peers","payload":{}}`
	}),
	"errors-in-plain-text":    wrapping(own(proto.ErrorMessage), func(string) string { return "Error: invalid message" }),
	"greets-in-plain-text":    saying(own(proto.RelayJoined), "connected"),
	"keeps-alive-by-nothing":  saying(own(proto.RelayJoined), ""),
	"keeps-alive-by-null":     saying(own(proto.RelayJoined), "null"),
	"states-in-a-list":        wrapping(passed(proto.StateUpdated), func(data string) string { return "[" + data + "]" }),
	"a-line-feed-between-two": twoInAFrame,
	"single-quotes-for-double": wrapping(own(proto.RelayJoined), func(data string) string {
		return strings.ReplaceAll(data, `"`, `'`)
	}),
	"length-before-the-json": wrapping(passed(proto.SnapshotState), func(data string) string {
		return "42[" + data + "]"
	}),
}

// own matches relay messages of a type.
func own(kind string) func(from party, data []byte) bool {
	return func(from party, data []byte) bool { return from.Conn == 0 && typeOf(data) == kind }
}

// passed matches passed-on messages of a type.
func passed(kind string) func(from party, data []byte) bool {
	return func(from party, data []byte) bool { return from.Conn > 0 && typeOf(data) == kind }
}

// wrapping changes some frames.
func wrapping(which func(from party, data []byte) bool, f func(data string) string) fault {
	return func(o *options) {
		o.Outbound = func(_ view, from, to party, data []byte, send sender) {
			if which(from, data) {
				data = []byte(f(string(data)))
			}
			send(to.Conn, data)
		}
	}
}

// saying sends a text before some frames.
func saying(which func(from party, data []byte) bool, text string) fault {
	return func(o *options) {
		o.Outbound = func(_ view, from, to party, data []byte, send sender) {
			if which(from, data) {
				send(to.Conn, []byte(text))
			}
			send(to.Conn, data)
		}
	}
}

// twoInAFrame sends a result and the following state in one frame, one per line.
func twoInAFrame(o *options) {
	held := map[int][]byte{}
	o.Outbound = func(_ view, from, to party, data []byte, send sender) {
		before, kind := held[to.Conn], typeOf(data)
		delete(held, to.Conn)
		switch {
		case from.Conn > 0 && kind == proto.ToolResult:
			held[to.Conn] = data
			data = nil
		case before != nil && kind == proto.StateUpdated:
			before, data = nil, []byte(string(before)+"\n"+string(data))
		}
		for _, data := range [][]byte{before, data} {
			if data != nil {
				send(to.Conn, data)
			}
		}
	}
}

// orderFaults repeat messages or reorder them.
var orderFaults = map[string]fault{
	"results-twice":            twice(isHost, proto.ToolResult),
	"words-twice":              twice(isHost, proto.UserMessage),
	"a-task-per-agent-message": overtaking,
	"a-task-per-host-message":  everySecondDelayed,
	"answers-overtake-states":  afterTheNext(func(data []byte) bool { return typeOf(data) == proto.StateUpdated }),
	"states-overtake-answers":  afterTheNext(func(data []byte) bool { return typeOf(data) == proto.ToolResult }),
}

// twice sends some messages of one side twice.
func twice(of func(p party) bool, types ...string) fault {
	return routing(func(_ view, from party, e *envelope, to []party) []party {
		if !of(from) || !ofType(e, types...) {
			return to
		}
		return slices.Concat(to, to)
	})
}

// overtaking handles each message of an agent in its own task, and every second task is slow, so that messages sent
// together arrive reordered.
func overtaking(o *options) {
	const lag = 100 * time.Millisecond
	n := 0
	o.Outbound = func(_ view, from, to party, data []byte, send sender) {
		if isAgent(from) {
			if n++; n%2 == 0 {
				time.AfterFunc(lag, func() { send(to.Conn, data) })
				return
			}
		}
		send(to.Conn, data)
	}
}

// everySecondDelayed delays every second message of a host.
func everySecondDelayed(o *options) {
	n := 0
	afterTheNext(func([]byte) bool { n++; return n%2 == 0 })(o)
}

// afterTheNext holds some messages of hosts back until another message has been sent.
func afterTheNext(which func(data []byte) bool) fault {
	const atMost = 500 * time.Millisecond
	return func(o *options) {
		var mu sync.Mutex
		waiting := map[int][][]byte{}
		flush := func(conn int, send sender) {
			for _, data := range waiting[conn] {
				send(conn, data)
			}
			delete(waiting, conn)
		}
		o.Outbound = func(_ view, from, to party, data []byte, send sender) {
			mu.Lock()
			defer mu.Unlock()
			if isHost(from) && which(data) {
				waiting[to.Conn] = append(waiting[to.Conn], data)
				time.AfterFunc(atMost, func() {
					mu.Lock()
					defer mu.Unlock()
					flush(to.Conn, send)
				})
				return
			}
			send(to.Conn, data)
			flush(to.Conn, send)
		}
	}
}

// routingFaults send hosts' messages to the wrong parties, or answer for the host.
var routingFaults = map[string]fault{
	"states-to-the-first-agent":   hostTo(first, proto.StateUpdated),
	"states-to-the-last-agent":    hostTo(last, proto.StateUpdated),
	"words-to-the-first-agent":    hostTo(first, proto.UserMessage),
	"words-to-the-last-agent":     hostTo(last, proto.UserMessage),
	"hosts-heard-by-first-agent":  hostTo(first),
	"hosts-heard-by-last-agent":   hostTo(last),
	"answers-to-the-first-agent":  hostTo(first, proto.SnapshotState),
	"answers-to-the-last-agent":   hostTo(last, proto.SnapshotState),
	"answers-to-the-latest-asker": toLatestAsker(isAnswer),
	"states-to-the-latest-asker":  toLatestAsker(is(proto.StateUpdated)),
	"echoes-to-the-sender": routing(func(_ view, from party, _ *envelope, to []party) []party {
		return append([]party{from}, to...)
	}),
	"confirms-by-itself":      answersItself(proto.ToolCall, confirmation, true),
	"ends-sessions-by-itself": answersItself(proto.SessionEnd, ended, false), // without telling the host
	"snapshots-from-a-cache":  snapshotsCached,
}

func first(agents []party) []party { return agents[:min(1, len(agents))] }
func last(agents []party) []party  { return agents[max(0, len(agents)-1):] }

// hostTo sends host messages to only one of the agents.
func hostTo(pick func(agents []party) []party, types ...string) fault {
	return routing(func(v view, from party, e *envelope, to []party) []party {
		if isHost(from) && ofType(e, types...) {
			return pick(v.Agents(from.Session))
		}
		return to
	})
}

// toLatestAsker sends some host messages to the agent of the session that sent last.
func toLatestAsker(which func(from party, e *envelope) bool) fault {
	return func(o *options) {
		latest := map[string]party{}
		o.Policy.Recipients = func(_ view, from party, e *envelope, to []party) []party {
			if isAgent(from) {
				latest[from.Session] = from
			} else if p := latest[from.Session]; p.Conn > 0 && which(from, e) {
				return []party{p}
			}
			return to
		}
	}
}

// confirmation returns the reply to a successful call.
func confirmation(e *envelope) message {
	id, _ := e.ID()
	tool, _ := e.Payload().Text("toolName")
	return wire.New(proto.ToolResult, object{"ok": true, "toolName": tool}).With("replyTo", id)
}

func ended(e *envelope) message {
	id, _ := e.ID()
	return wire.New(proto.SessionEnded, object{"sessionId": "", "logFile": "", "stateReset": true}).With("replyTo", id)
}

// answersItself answers the requests of a type, and optionally also passes them on.
func answersItself(kind string, with func(e *envelope) message, pass bool) fault {
	return routing(func(v view, from party, e *envelope, to []party) []party {
		if _, ok := e.ID(); !isAgent(from) || e.Type() != kind || len(to) == 0 || !ok {
			return to
		}
		v.Send(from.Conn, wire.Encode(with(e)))
		if pass {
			return to
		}
		return nil
	})
}

// snapshotsCached answers snapshot.get with the last snapshot.state of the session.
func snapshotsCached(o *options) {
	cache := map[string][]byte{} // session → snapshot.state
	o.Policy.Recipients = func(v view, from party, e *envelope, to []party) []party {
		id, ok := e.ID()
		switch {
		case isHost(from) && e.Type() == proto.SnapshotState:
			cache[from.Session] = slices.Clone(e.Raw)
		case isHost(from) && e.Type() == proto.SessionEnded:
			delete(cache, from.Session)
		case isAgent(from) && e.Type() == proto.SnapshotGet && cache[from.Session] != nil && ok:
			v.Send(from.Conn, edited(cache[from.Session], func(m members) { m["replyTo"] = wire.Encode(id) }))
			return nil
		}
		return to
	}
}

// replyFaults pass on a wrong id or replyTo.
var replyFaults = map[string]fault{
	"ids-rewritten":               rewritingIDs(),
	"call-ids-rewritten":          rewritingIDs(proto.ToolCall),
	"snapshot-ids-rewritten":      rewritingIDs(proto.SnapshotGet),
	"end-ids-rewritten":           rewritingIDs(proto.SessionEnd),
	"replies-to-the-latest":       replyingToLatest(isAnswer),
	"replies-swapped":             repliesSwapped,
	"user-message-with-reply-to":  replyingToLatest(is(proto.UserMessage)),
	"state-updated-with-reply-to": replyingToLatest(is(proto.StateUpdated)),
}

// replyingTo writes another id into replyTo.
func replyingTo(id string, data []byte) []byte {
	return edited(data, func(m members) { m["replyTo"] = wire.Encode(id) })
}

// rewritingIDs replaces the ids of requests and does not restore them in the replies.
func rewritingIDs(types ...string) fault {
	return func(o *options) {
		n := 0
		o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
			if !isAgent(from) || !ofType(e, types...) {
				return data
			}
			n++
			return edited(data, func(m members) { m["id"] = wire.Encode(fmt.Sprintf("relay-%d", n)) })
		}
	}
}

// asked returns the id of an agent's request that expects a reply.
func asked(from party, e *envelope) (string, bool) {
	id, ok := e.ID()
	return id, ok && isAgent(from) && e.Type() != proto.AgentMessage
}

// replyingToLatest puts the session's latest request into replyTo of some host messages.
func replyingToLatest(which func(from party, e *envelope) bool) fault {
	return func(o *options) {
		latest := map[string]string{}
		o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
			if id, ok := asked(from, e); ok {
				latest[from.Session] = id
			}
			if isHost(from) && which(from, e) && latest[from.Session] != "" {
				return replyingTo(latest[from.Session], data)
			}
			return data
		}
	}
}

// repliesSwapped makes a reply name the request after its own, if there is one by then.
func repliesSwapped(o *options) {
	next, latest := map[string]string{}, map[string]string{} // id → the id of the next request of the same session
	o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
		if id, ok := asked(from, e); ok {
			next[latest[from.Session]] = id
			latest[from.Session] = id
			return data
		}
		id, _ := e.ReplyTo()
		if to := next[id]; isHost(from) && to != "" {
			return replyingTo(to, data)
		}
		return data
	}
}
