package mutants

import (
	"strings"

	proto "parley/protocol/agentselect"
)

// refusalFaults send wrong refusals: code, text, event.
var refusalFaults = map[string]fault{
	"camel-case-codes": with(
		refuses(), "errorCode", func(d eventData) any { return camel(d["errorCode"].(string)) }),
	"upper-case-codes": with(refuses(), "errorCode", shouted("errorCode")),
	"numeric-codes":    with(refuses(), "errorCode", fixed(400)),
	"codes-under-code": moved(refuses(), "errorCode", "code"),
	"no-codes":         without(refuses(), "errorCode"),
	"null-codes":       with(refuses(), "errorCode", fixed(nil)),
	"nested-errors":    rewriting(refuses(), func(d eventData) eventData { return eventData{"error": d} }),
	"no-messages":      without(refuses(), "message"),
	"null-messages":    with(refuses(), "message", fixed(nil)),
	"structured-text": with(
		refuses(), "message", func(d eventData) any { return eventData{"text": d["message"]} }),
	"text-under-error":            moved(refuses(), "message", "error"),
	"listed-text":                 with(refuses(), "message", func(d eventData) any { return []any{d["message"]} }),
	"generic-not-found":           with(refuses(proto.AgentNotFound), "errorCode", fixed("not_found")),
	"unknown-agent-as-invalid-id": with(refuses(proto.AgentNotFound), "errorCode", fixed(proto.InvalidAgentID)),
	"unknown-agent-as-bad-format": with(refuses(proto.AgentNotFound), "errorCode", fixed(proto.InvalidAgentIDFormat)),
	"busy-as-session-busy":        with(refuses(proto.AgentBusy), "errorCode", fixed("session_busy")),
	"busy-as-not-found":           with(refuses(proto.AgentBusy), "errorCode", fixed(proto.AgentNotFound)),
	"no-session-as-agent-unknown": with(refuses(proto.SessionNotFound), "errorCode", fixed(proto.AgentNotFound)),
	"no-session-as-invalid":       with(refuses(proto.SessionNotFound), "errorCode", fixed("invalid_session")),
	"unbound-as-no-session":       telling(changed(refuses(proto.SessionNotFound), unboundRenamed)),
	"malformed-as-invalid-format": with(refuses(proto.InvalidAgentIDFormat), "errorCode", fixed("invalid_format")),
	"empty-as-missing":            with(refuses(proto.InvalidAgentID), "errorCode", fixed("missing_agent_id")),
	"own-text-for-empty":          with(refuses(proto.InvalidAgentID), "message", fixed("agentId must not be empty")),
	"text-for-empty-with-stop":    with(refuses(proto.InvalidAgentID), "message", fixed(proto.EmptyIDText+".")),
	"own-text-for-malformed": with(
		refuses(proto.InvalidAgentIDFormat), "message", fixed("agentId contains invalid characters")),
	"text-for-malformed-with-plus": with(refuses(proto.InvalidAgentIDFormat), "message", fixed(proto.FormatIDText+"+")),
	"translated-texts":             with(refuses(proto.InvalidAgentID, proto.InvalidAgentIDFormat), "message", translated),
	"text-without-id":              with(refuses(proto.AgentNotFound), "message", fixed("Invalid agent ID")),
	"text-with-folded-id":          with(refuses(proto.AgentNotFound), "message", shouted("message")),
	"empty-without-message":        without(refuses(proto.InvalidAgentID), "message"),
	"malformed-without-message":    without(refuses(proto.InvalidAgentIDFormat), "message"),
	"unknown-without-message":      without(refuses(proto.AgentNotFound), "message"),
	"busy-without-message":         without(refuses(proto.AgentBusy), "message"),
	"session-without-message":      without(refuses(proto.SessionNotFound), "message"),
	"errors-under-another-event":   renamed(refuses(), "switch_error"),
	"silent-refusals":              silent(refuses()),
	"silent-on-unknown":            silent(refuses(proto.AgentNotFound)),
	"silent-on-malformed":          silent(refuses(proto.InvalidAgentIDFormat)),
	"silent-on-empty":              silent(refuses(proto.InvalidAgentID)),
	"silent-on-busy":               silent(refuses(proto.AgentBusy)),
	"silent-on-session":            silent(refuses(proto.SessionNotFound)),
	"refusals-by-http-only":        byStatus(400),
	"http-404-for-unknown-session": byStatus(404, proto.SessionNotFound),
	"http-409-for-busy":            byStatus(409, proto.AgentBusy),
	"refused-and-switched":         before(refuses(proto.AgentNotFound), confirmation),
	"switched-after-malformed":     before(refuses(proto.InvalidAgentIDFormat), confirmation),
	"refused-and-told-again":       toldAgain,
}

// camel turns agent_not_found into agentNotFound.
func camel(code string) string {
	words := strings.Split(code, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func translated(d eventData) any {
	if d["errorCode"] == proto.InvalidAgentID {
		return "agentId 不能为空"
	}
	return "agentId 包含非法字符"
}

func shouted(key string) func(d eventData) any {
	return func(d eventData) any { return strings.ToUpper(d[key].(string)) }
}

// unboundRenamed uses another code for a missing session than for an unknown one.
func unboundRenamed(m manager, to *connInfo, ev *event) {
	if m.DefaultSession(to.ID) == "" {
		ev.Data = ev.Data.With("errorCode", "no_session")
	}
}

// toldAgain repeats a connection's last confirmation when its switch is refused.
func toldAgain(o *options) {
	last := map[string]event{}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if confirms(ev) {
			last[to.ID] = ev
		}
		if again, ok := last[to.ID]; ok && refuses(proto.AgentNotFound)(ev) {
			send(to.ID, again)
		}
		send(to.ID, ev)
	}
}

// confirmation returns an agent_switched to the current agent.
func confirmation(m manager, c connInfo) event {
	id := m.AgentOf(m.DefaultSession(c.ID))
	return event{Type: proto.AgentSwitchedEvent, Data: eventData{
		"previousAgentId": id, currentKey: id, "agentName": nameOf(m, id),
	}}
}

func nameOf(m manager, id string) string {
	for _, a := range m.Agents() {
		if a.ID == id {
			return a.Name
		}
	}
	return id
}
