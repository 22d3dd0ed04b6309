package mutants

import (
	"maps"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// logFaults log wrong messages, or omit some.
var logFaults = map[string]fault{
	"log-without-talk":          unlogged(is("type", proto.AgentMessage)),
	"log-without-errors":        unlogged(is("type", proto.ErrorMessage)),
	"log-without-results":       unlogged(is("type", proto.ToolResult)),
	"log-without-calls":         unlogged(is("type", proto.ToolCall)),
	"log-without-user-messages": unlogged(is("type", proto.UserMessage)),
	"log-of-what-comes-in":      unlogged(is("direction", proto.Out)),
	"log-of-what-goes-out":      unlogged(is("direction", proto.In)),
	"log-of-internals":          unlogged(func(e entry) bool { return e["direction"] != proto.Internal }),
	"log-until-reconnect":       hosting(logsUntilReconnect),
	"log-each-once":             hosting(logsOnce),
	"log-of-first-lines":        hosting(logsFirst),
	"log-of-refused-without":    hosting(logsNoRefused),
	"log-empty":                 unlogged(func(entry) bool { return true }),

	"log-types-in-snake-case": logging(spoil.Text("type", func(s string) string {
		return strings.ReplaceAll(s, ".", "_")
	})),
	"log-payload-wrapped":     logging(spoil.Change("payload", spoil.Within("message"))),
	"log-sent-is-wrapped":     recording(logsSentWrapped),
	"log-payload-as-text":     logging(spoil.Change("payload", spoil.JSON)),
	"log-payload-missing":     logging(spoil.Lose("payload")),
	"log-payload-null-inside": loggingInside(spoil.Set("payload", nil)),
	"log-payload-named-data":  logging(spoil.Rename("payload", "data")),
	"log-without-reason":      loggingPayload(proto.ToolCall, spoil.Lose("reason")),
	"log-without-params":      loggingPayload(proto.ToolCall, spoil.Lose("params")),
	"log-params-as-text":      loggingPayload(proto.ToolCall, spoil.Change("params", spoil.JSON)),
	"log-params-in-place": loggingPayload(proto.ToolCall, func(p object) {
		delete(p, "toolName")
		delete(p, "reason")
	}),
	"log-results-without-ui":  loggingPayload(proto.ToolResult, spoil.Lose("uiSpec")),
	"log-errors-without-text": loggingPayload(proto.ErrorMessage, spoil.Lose("message")),
	"log-talk-cut": loggingPayload(proto.AgentMessage, spoil.Text("text", func(s string) string {
		return s[:min(len(s), 12)]
	})),
	"log-talk-as-received": loggingPayload(proto.AgentMessage, spoil.Text("text", func(s string) string {
		return strings.ToLower(s) + " "
	})),
	"log-has-the-envelope": logging(inEnvelope),
}

// recording replaces each log line by others.
func recording(f func(v view, e entry) []entry) fault { return deciding(policy{Record: f}) }

// logging changes each line.
func logging(f func(e object)) fault {
	return loggingWhere(func(entry) bool { return true }, f)
}

func loggingWhere(which func(e entry) bool, f func(e object)) fault {
	return recording(func(_ view, e entry) []entry {
		if which(e) {
			f(e)
		}
		return []entry{e}
	})
}

// is matches the lines in which a member has the value.
func is(name string, v any) func(e entry) bool {
	return func(e entry) bool { return e[name] == v }
}

// loggingInside changes the lines of internal events.
func loggingInside(f func(e object)) fault {
	return loggingWhere(is("direction", proto.Internal), f)
}

// loggingPayload changes the payloads of a type, but only in the log.
func loggingPayload(kind string, f func(payload object)) fault {
	return loggingWhere(is("type", kind), func(e object) {
		kept := object{}
		payload, _ := e["payload"].(object)
		maps.Copy(kept, payload)
		if _, has := kept["text"]; has || kind != proto.AgentMessage {
			f(kept)
		}
		e["payload"] = kept
	})
}

// unlogged omits lines.
func unlogged(which func(e entry) bool) fault {
	return recording(func(_ view, e entry) []entry {
		if which(e) {
			return nil
		}
		return []entry{e}
	})
}

// logsUntilReconnect logs only the first connection.
func logsUntilReconnect(h *hostOptions) {
	back := false
	h.Policy.Connected = func(v view, again bool, right keep) keep {
		back = again && v.Active()
		return right
	}
	h.Policy.Record = func(_ view, e entry) []entry {
		if back {
			return nil
		}
		return []entry{e}
	}
}

// logsOnce writes each distinct line only once, however often the message was sent.
func logsOnce(h *hostOptions) {
	seen := map[string]bool{}
	h.Policy.Record = func(v view, e entry) []entry {
		key := v.SessionID() + string(wire.Encode(object{"type": e["type"], "payload": e["payload"]}))
		if seen[key] {
			return nil
		}
		seen[key] = true
		return []entry{e}
	}
}

// logsFirst stops logging after the first lines.
func logsFirst(h *hostOptions) {
	n := map[string]int{}
	h.Policy.Record = func(v view, e entry) []entry {
		if n[v.SessionID()]++; n[v.SessionID()] > 5 {
			return nil
		}
		return []entry{e}
	}
}

// logsNoRefused logs a call only when it is executed, so that refused calls are missing.
func logsNoRefused(h *hostOptions) {
	var kept entry
	h.Policy.Record = func(_ view, e entry) []entry {
		index := e["eventIndex"].(int)
		e["eventIndex"] = 10 * index
		switch {
		case e["type"] == proto.ToolCall:
			kept = e
			return nil
		case e["type"] == proto.ToolResult && kept != nil:
			call := kept
			call["eventIndex"], kept = index, nil
			return []entry{call, e}
		}
		return []entry{e}
	}
}

// logsSentWrapped logs what the host sends, except results, twice and in another form.
func logsSentWrapped(_ view, e entry) []entry {
	if e["direction"] != proto.Out || e["type"] == proto.ToolResult {
		return []entry{e}
	}
	e["payload"] = object{"type": e["type"], "data": e["payload"]}
	return []entry{e, maps.Clone(e)}
}

// inEnvelope logs the whole envelope as the payload.
func inEnvelope(e object) {
	if e["direction"] != proto.Internal {
		e["payload"] = object{"v": proto.Version, "type": e["type"], "payload": e["payload"]}
	}
}

// lineFaults get the other fields of a line wrong.
var lineFaults = map[string]fault{
	"line-without-session":       logging(spoil.Lose("sessionId")),
	"line-session-is-relays":     inSession(logsRelaySession),
	"line-session-null-inside":   loggingInside(spoil.Set("sessionId", nil)),
	"line-session-in-snake-case": logging(spoil.Rename("sessionId", "session_id")),
	"line-without-index":         logging(spoil.Lose("eventIndex")),
	"line-index-is-text":         logging(spoil.Change("eventIndex", spoil.JSON)),
	"line-index-is-fraction":     logging(spoil.Change("eventIndex", func(v any) any { return float64(v.(int)) / 10 })),
	"line-without-time":          logging(spoil.Lose("timestamp")),
	"line-time-is-number":        logging(spoil.Change("timestamp", func(any) any { return time.Now().UnixMilli() })),
	"line-time-without-zone": logging(spoil.Text("timestamp", func(s string) string {
		return strings.TrimSuffix(s, "Z")
	})),
	"line-time-is-local": logging(spoil.Text("timestamp", func(s string) string {
		return strings.TrimSuffix(s, "Z") + "+08:00"
	})),
	"line-time-in-words": logging(spoil.Change("timestamp", func(any) any {
		return time.Now().UTC().Format(time.RFC1123)
	})),
	"line-without-direction":  logging(spoil.Lose("direction")),
	"line-direction-in-words": logging(spoil.Text("direction", func(s string) string { return s + "bound" })),
	"line-direction-shouted":  logging(spoil.Text("direction", strings.ToUpper)),
	"line-direction-is-role": logging(spoil.Change("direction", func(v any) any {
		return map[any]any{"in": "agent", "out": "host", "internal": "internal"}[v]
	})),
	"directions-swapped":       logging(spoil.Change("direction", swapped)),
	"directions-all-out":       logging(spoil.Set("direction", proto.Out)),
	"calls-logged-as-internal": loggingWhere(is("type", proto.ToolCall), spoil.Set("direction", proto.Internal)),
	"talk-logged-as-out":       loggingWhere(is("type", proto.AgentMessage), spoil.Set("direction", proto.Out)),
	"line-without-type":        logging(spoil.Lose("type")),
	"line-type-null-inside":    loggingInside(spoil.Set("type", nil)),
	"line-type-is-number":      logging(spoil.Change("type", func(v any) any { return len(v.(string)) })),
	"line-type-named-event":    logging(spoil.Rename("type", "event")),
	"line-type-is-message":     logging(spoil.Set("type", "message")),
}

func swapped(v any) any {
	switch v {
	case proto.In:
		return proto.Out
	case proto.Out:
		return proto.In
	}
	return v
}

// logsRelaySession logs the name of the relay session.
func logsRelaySession(h *hostOptions, session string) {
	h.Policy.Record = func(_ view, e entry) []entry {
		e["sessionId"] = session
		return []entry{e}
	}
}

// indexFaults count lines wrong.
var indexFaults = map[string]fault{
	"index-constant":         counting(func(int) int { return 1 }),
	"index-twice":            counting(func(n int) int { return (n + 1) / 2 }),
	"index-counts-down":      counting(func(n int) int { return 10000 - n }),
	"index-starts-again":     counting(func(n int) int { return (n-1)%7 + 1 }),
	"index-jumps-back":       counting(func(n int) int { return n - 5*(n/6) }),
	"index-per-direction":    hosting(perDirection),
	"index-per-connection":   hosting(perConnection),
	"index-per-resumption":   hosting(perResumption),
	"index-repeated-inside":  hosting(repeatedInside),
	"index-is-line-of-store": hosting(lateIndex),
}

// counting changes the numbering of a host's lines.
func counting(f func(n int) int) fault {
	return logging(spoil.Change("eventIndex", func(v any) any { return f(v.(int)) }))
}

// perDirection has a counter for each direction.
func perDirection(h *hostOptions) {
	n := map[any]int{}
	h.Policy.Record = func(v view, e entry) []entry {
		key := v.SessionID() + e["direction"].(string)
		n[key]++
		e["eventIndex"] = n[key]
		return []entry{e}
	}
}

// perConnection restarts the numbering when an agent reconnects.
func perConnection(h *hostOptions) {
	n := 0
	h.Policy.Connected = func(_ view, _ bool, right keep) keep {
		n = 0
		return right
	}
	h.Policy.Record = func(_ view, e entry) []entry {
		n++
		e["eventIndex"] = n
		return []entry{e}
	}
}

// perResumption ends a session with the connection, and appends the next one to its log, under its id.
func perResumption(h *hostOptions) {
	resumed := &resumedLog{Store: h.Store}
	h.Store = resumed
	h.Policy.Connected = func(_ view, again bool, right keep) keep {
		if again {
			return keep{}
		}
		return right
	}
	h.Policy.Reset = func(_ view, right keep) keep {
		resumed.log = nil
		return right
	}
}

// repeatedInside gives an internal event the index of the preceding line.
func repeatedInside(h *hostOptions) {
	last := 0
	h.Policy.Record = func(_ view, e entry) []entry {
		if e["direction"] == proto.Internal && last > 0 {
			e["eventIndex"] = last
		}
		last = e["eventIndex"].(int)
		return []entry{e}
	}
}

// lateIndex writes a result after the line that follows it, as concurrent tasks might.
func lateIndex(h *hostOptions) {
	var kept []entry
	h.Policy.Record = func(_ view, e entry) []entry {
		if e["type"] == proto.ToolResult && kept == nil {
			kept = []entry{e}
			return nil
		}
		out := append([]entry{e}, kept...)
		kept = nil
		return out
	}
}
