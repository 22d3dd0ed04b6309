package hosts

import (
	"maps"
	"slices"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
)

// logFaults log other messages than there were, or not all of them.
var logFaults = map[string]fault{
	"log-without-talk":          unlogged(func(e entry) bool { return e["type"] == proto.AgentMessage }),
	"log-without-errors":        unlogged(func(e entry) bool { return e["type"] == proto.ErrorMessage }),
	"log-without-results":       unlogged(func(e entry) bool { return e["type"] == proto.ToolResult }),
	"log-without-calls":         unlogged(func(e entry) bool { return e["type"] == proto.ToolCall }),
	"log-without-user-messages": unlogged(func(e entry) bool { return e["type"] == proto.UserMessage }),
	"log-of-what-comes-in":      unlogged(func(e entry) bool { return e["direction"] == proto.Out }),
	"log-of-what-goes-out":      unlogged(func(e entry) bool { return e["direction"] == proto.In }),
	"log-of-internals":          unlogged(func(e entry) bool { return e["direction"] != proto.Internal }),
	"log-until-reconnect":       deciding(logsUntilReconnect),
	"log-each-once":             deciding(logsOnce),
	"log-of-first-lines":        deciding(logsFirst),
	"log-of-refused-without":    hosting(logsNoRefused),
	"log-empty":                 unlogged(func(entry) bool { return true }),

	"log-types-in-snake-case": logging(change("type", func(v any) any { return strings.ReplaceAll(v.(string), ".", "_") })),
	"log-payload-wrapped":     logging(change("payload", func(v any) any { return object{"message": v} })),
	"log-sent-is-wrapped":     deciding(logsSentWrapped),
	"log-payload-as-text":     logging(change("payload", jsonText)),
	"log-payload-missing":     logging(lose("payload")),
	"log-payload-null-inside": loggingWhere(func(e entry) bool { return e["direction"] == proto.Internal }, set("payload", nil)),
	"log-payload-named-data":  logging(rename("payload", "data")),
	"log-without-reason":      loggingPayload(proto.ToolCall, lose("reason")),
	"log-without-params":      loggingPayload(proto.ToolCall, lose("params")),
	"log-params-as-text":      loggingPayload(proto.ToolCall, change("params", jsonText)),
	"log-params-in-place":     loggingPayload(proto.ToolCall, func(p object) { delete(p, "toolName"); delete(p, "reason") }),
	"log-results-without-ui":  loggingPayload(proto.ToolResult, lose("uiSpec")),
	"log-errors-without-text": loggingPayload(proto.ErrorMessage, lose("message")),
	"log-talk-cut":            loggingPayload(proto.AgentMessage, change("text", func(v any) any { s, _ := v.(string); return s[:min(len(s), 12)] })),
	"log-talk-as-received":    loggingPayload(proto.AgentMessage, change("text", func(v any) any { s, _ := v.(string); return strings.ToLower(s) + " " })),
	"log-has-the-envelope":    deciding(logsEnvelope),
}

// logging changes each line.
func logging(f func(e object)) fault {
	return loggingWhere(func(entry) bool { return true }, f)
}

func loggingWhere(which func(e entry) bool, f func(e object)) fault {
	return ruling(rules{record: func(_ view, e entry) []entry {
		if which(e) {
			f(e)
		}
		return []entry{e}
	}})
}

// loggingPayload changes the payloads of a type, in the log alone.
func loggingPayload(kind string, f func(payload object)) fault {
	return loggingWhere(func(e entry) bool { return e["type"] == kind }, func(e object) {
		payload, _ := e["payload"].(object)
		kept := object{}
		for name, v := range payload {
			kept[name] = v
		}
		if _, has := kept["text"]; has || kind != proto.AgentMessage {
			f(kept)
		}
		e["payload"] = kept
	})
}

// unlogged leaves lines out.
func unlogged(which func(e entry) bool) fault {
	return ruling(rules{record: func(_ view, e entry) []entry {
		if which(e) {
			return nil
		}
		return []entry{e}
	}})
}

// logsUntilReconnect has its writer bound to the first connection.
func logsUntilReconnect() rules {
	back := false
	return rules{
		connected: func(v view, again bool) keep {
			back = again && v.Active()
			return correct.Connected(v, again)
		},
		record: func(_ view, e entry) []entry {
			if back {
				return nil
			}
			return []entry{e}
		},
	}
}

// logsOnce leaves out a line that has been written already, however often it was said.
func logsOnce() rules {
	seen := map[string]bool{}
	return rules{record: func(v view, e entry) []entry {
		key := v.SessionID() + string(encode(object{"type": e["type"], "payload": e["payload"]}))
		if seen[key] {
			return nil
		}
		seen[key] = true
		return []entry{e}
	}}
}

// logsFirst keeps a log short.
func logsFirst() rules {
	n := map[string]int{}
	return rules{record: func(v view, e entry) []entry {
		if n[v.SessionID()]++; n[v.SessionID()] > 5 {
			return nil
		}
		return []entry{e}
	}}
}

// logsNoRefused logs a call once it is executed: what was refused is not there.
func logsNoRefused(h *hostOptions) {
	kept := entry(nil)
	h.Policy = rules{record: func(_ view, e entry) []entry {
		switch e["type"] {
		case proto.ToolCall:
			kept = e
			return nil
		case proto.ToolResult:
			if kept != nil {
				out := []entry{kept, e}
				kept["eventIndex"], e["eventIndex"] = e["eventIndex"], e["eventIndex"].(int)*10
				kept = nil
				return out
			}
		}
		e["eventIndex"] = e["eventIndex"].(int) * 10
		return []entry{e}
	}}
}

// logsSentWrapped logs what the host sends, but for results, once for the page and once for the agent, and within what the
// sender had for it.
func logsSentWrapped() rules {
	return rules{record: func(_ view, e entry) []entry {
		if e["direction"] != proto.Out || e["type"] == proto.ToolResult {
			return []entry{e}
		}
		e["payload"] = object{"type": e["type"], "data": e["payload"]}
		return []entry{e, maps.Clone(e)}
	}}
}

// logsEnvelope logs the whole envelope as payload.
func logsEnvelope() rules {
	return rules{record: func(_ view, e entry) []entry {
		if e["direction"] != proto.Internal {
			e["payload"] = object{"v": proto.Version, "type": e["type"], "payload": e["payload"]}
		}
		return []entry{e}
	}}
}

// lineFaults get the other fields of a line wrong.
var lineFaults = map[string]fault{
	"line-without-session":       logging(lose("sessionId")),
	"line-session-is-relays":     hostingSession(func(session string, e object) { e["sessionId"] = session }),
	"line-session-null-inside":   loggingWhere(func(e entry) bool { return e["direction"] == proto.Internal }, set("sessionId", nil)),
	"line-session-in-snake-case": logging(rename("sessionId", "session_id")),
	"line-without-index":         logging(lose("eventIndex")),
	"line-index-is-text":         logging(change("eventIndex", func(v any) any { return string(encode(v)) })),
	"line-index-is-fraction":     logging(change("eventIndex", func(v any) any { return float64(v.(int)) / 10 })),
	"line-without-time":          logging(lose("timestamp")),
	"line-time-is-number":        logging(change("timestamp", func(any) any { return time.Now().UnixMilli() })),
	"line-time-without-zone":     logging(change("timestamp", func(v any) any { return strings.TrimSuffix(v.(string), "Z") })),
	"line-time-is-local":         logging(change("timestamp", func(v any) any { return strings.TrimSuffix(v.(string), "Z") + "+08:00" })),
	"line-time-in-words":         logging(change("timestamp", func(any) any { return time.Now().UTC().Format(time.RFC1123) })),
	"line-without-direction":     logging(lose("direction")),
	"line-direction-in-words":    logging(change("direction", func(v any) any { return v.(string) + "bound" })),
	"line-direction-shouted":     logging(change("direction", func(v any) any { return strings.ToUpper(v.(string)) })),
	"line-direction-is-role":     logging(change("direction", func(v any) any { return map[any]any{"in": "agent", "out": "host", "internal": "internal"}[v] })),
	"directions-swapped":         logging(change("direction", swapped)),
	"directions-all-out":         logging(set("direction", proto.Out)),
	"calls-logged-as-internal":   loggingWhere(func(e entry) bool { return e["type"] == proto.ToolCall }, set("direction", proto.Internal)),
	"talk-logged-as-out":         loggingWhere(func(e entry) bool { return e["type"] == proto.AgentMessage }, set("direction", proto.Out)),
	"line-without-type":          logging(lose("type")),
	"line-type-null-inside":      loggingWhere(func(e entry) bool { return e["direction"] == proto.Internal }, set("type", nil)),
	"line-type-is-number":        logging(change("type", func(v any) any { return len(v.(string)) })),
	"line-type-named-event":      logging(rename("type", "event")),
	"line-type-is-message":       logging(set("type", "message")),
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

// hostingSession changes each line with the name of the relay session.
func hostingSession(f func(session string, e object)) fault {
	return func(o *options) {
		o.Host = func(session string, h hostOptions) hostOptions {
			h.Policy = rules{record: func(_ view, e entry) []entry {
				f(session, e)
				return []entry{e}
			}}
			return h
		}
	}
}

// indexFaults count lines wrong.
var indexFaults = map[string]fault{
	"index-constant":         counting(func(int, entry) int { return 1 }),
	"index-twice":            counting(func(n int, _ entry) int { return (n + 1) / 2 }),
	"index-counts-down":      counting(func(n int, _ entry) int { return 10000 - n }),
	"index-starts-again":     counting(func(n int, _ entry) int { return (n-1)%7 + 1 }),
	"index-jumps-back":       counting(func(n int, _ entry) int { return n - 5*(n/6) }),
	"index-per-direction":    deciding(perDirection),
	"index-per-connection":   deciding(perConnection),
	"index-repeated-inside":  deciding(repeatedInside),
	"index-is-line-of-store": deciding(lateIndex),
}

// counting counts the lines of a host otherwise.
func counting(f func(n int, e entry) int) fault {
	return ruling(rules{record: func(_ view, e entry) []entry {
		e["eventIndex"] = f(e["eventIndex"].(int), e)
		return []entry{e}
	}})
}

// perDirection has a counter for each direction.
func perDirection() rules {
	n := map[any]int{}
	return rules{record: func(v view, e entry) []entry {
		key := v.SessionID() + e["direction"].(string)
		n[key]++
		e["eventIndex"] = n[key]
		return []entry{e}
	}}
}

// perConnection begins anew when an agent comes back.
func perConnection() rules {
	n := 0
	return rules{
		connected: func(v view, again bool) keep {
			n = 0
			return correct.Connected(v, again)
		},
		record: func(_ view, e entry) []entry {
			n++
			e["eventIndex"] = n
			return []entry{e}
		},
	}
}

// repeatedInside gives an internal event the index of the message that it belongs to.
func repeatedInside() rules {
	last := 0
	return rules{record: func(_ view, e entry) []entry {
		if e["direction"] == proto.Internal && last > 0 {
			e["eventIndex"] = last
		}
		last = e["eventIndex"].(int)
		return []entry{e}
	}}
}

// lateIndex writes two lines the other way round now and then, as two tasks do.
func lateIndex() rules {
	var kept []entry
	return rules{record: func(_ view, e entry) []entry {
		if e["type"] == proto.ToolResult && kept == nil {
			kept = []entry{e}
			return nil
		}
		out := append([]entry{e}, kept...)
		kept = nil
		return slices.Clip(out)
	}}
}
