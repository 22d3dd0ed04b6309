package mutants

import (
	"strings"

	proto "parley/protocol/agentselect"
)

// refusalFaults tell refusals wrongly: code, text, event.
var refusalFaults = map[string]fault{
	"camel-case-codes":             refusing(func(d eventData) eventData { return d.With("errorCode", camel(d["errorCode"].(string))) }),
	"upper-case-codes":             refusing(func(d eventData) eventData { return d.With("errorCode", strings.ToUpper(d["errorCode"].(string))) }),
	"numeric-codes":                refusing(func(d eventData) eventData { return d.With("errorCode", 400) }),
	"codes-under-code":             refusing(func(d eventData) eventData { return d.With("code", d["errorCode"]).Without("errorCode") }),
	"no-codes":                     refusing(func(d eventData) eventData { return d.Without("errorCode") }),
	"null-codes":                   refusing(func(d eventData) eventData { return d.With("errorCode", nil) }),
	"nested-errors":                refusing(func(d eventData) eventData { return eventData{"error": d} }),
	"no-messages":                  refusing(func(d eventData) eventData { return d.Without("message") }),
	"null-messages":                refusing(func(d eventData) eventData { return d.With("message", nil) }),
	"structured-text":              refusing(func(d eventData) eventData { return d.With("message", eventData{"text": d["message"]}) }),
	"text-under-error":             refusing(func(d eventData) eventData { return d.With("error", d["message"]).Without("message") }),
	"listed-text":                  refusing(func(d eventData) eventData { return d.With("message", []any{d["message"]}) }),
	"generic-not-found":            renaming(proto.AgentNotFound, "not_found"),
	"unknown-agent-as-invalid-id":  renaming(proto.AgentNotFound, proto.InvalidAgentID),
	"unknown-agent-as-bad-format":  renaming(proto.AgentNotFound, proto.InvalidAgentIDFormat),
	"busy-as-session-busy":         renaming(proto.AgentBusy, "session_busy"),
	"busy-as-not-found":            renaming(proto.AgentBusy, proto.AgentNotFound),
	"no-session-as-agent-unknown":  renaming(proto.SessionNotFound, proto.AgentNotFound),
	"no-session-as-invalid":        renaming(proto.SessionNotFound, "invalid_session"),
	"unbound-as-no-session":        telling(unboundRenamed),
	"malformed-as-invalid-format":  renaming(proto.InvalidAgentIDFormat, "invalid_format"),
	"empty-as-missing":             renaming(proto.InvalidAgentID, "missing_agent_id"),
	"own-text-for-empty":           rewording(proto.InvalidAgentID, "agentId must not be empty"),
	"text-for-empty-with-stop":     rewording(proto.InvalidAgentID, proto.EmptyIDText+"."),
	"own-text-for-malformed":       rewording(proto.InvalidAgentIDFormat, "agentId contains invalid characters"),
	"text-for-malformed-with-plus": rewording(proto.InvalidAgentIDFormat, proto.FormatIDText+"+"),
	"translated-texts":             refusing(translated, proto.InvalidAgentID, proto.InvalidAgentIDFormat),
	"text-without-id":              rewording(proto.AgentNotFound, "Invalid agent ID"),
	"text-with-folded-id":          refusing(shouted, proto.AgentNotFound),
	"empty-without-message":        mute(proto.InvalidAgentID),
	"malformed-without-message":    mute(proto.InvalidAgentIDFormat),
	"unknown-without-message":      mute(proto.AgentNotFound),
	"busy-without-message":         mute(proto.AgentBusy),
	"session-without-message":      mute(proto.SessionNotFound),
	"errors-under-another-event":   telling(renamedErrors),
	"silent-refusals":              silent(),
	"silent-on-unknown":            silent(proto.AgentNotFound),
	"silent-on-malformed":          silent(proto.InvalidAgentIDFormat),
	"silent-on-empty":              silent(proto.InvalidAgentID),
	"silent-on-busy":               silent(proto.AgentBusy),
	"silent-on-session":            silent(proto.SessionNotFound),
	"refusals-by-http-only":        byStatus(400),
	"http-404-for-unknown-session": byStatus(404, proto.SessionNotFound),
	"http-409-for-busy":            byStatus(409, proto.AgentBusy),
	"refused-and-switched":         telling(refusedAndSwitched),
	"switched-after-malformed":     telling(switchedIfMalformed),
}

func renaming(code, to string) fault {
	return refusing(func(d eventData) eventData { return d.With("errorCode", to) }, code)
}

func rewording(code, text string) fault {
	return refusing(func(d eventData) eventData { return d.With("message", text) }, code)
}

func mute(code string) fault {
	return refusing(func(d eventData) eventData { return d.Without("message") }, code)
}

func silent(codes ...string) fault {
	return telling(func(_ manager, to connInfo, ev event, send sender) {
		if !isRefusal(ev, codes...) {
			send(to.ID, ev)
		}
	})
}

// camel turns agent_not_found into agentNotFound.
func camel(code string) string {
	words := strings.Split(code, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func translated(d eventData) eventData {
	if d["errorCode"] == proto.InvalidAgentID {
		return d.With("message", "agentId 不能为空")
	}
	return d.With("message", "agentId 包含非法字符")
}

func shouted(d eventData) eventData { return d.With("message", strings.ToUpper(d["message"].(string))) }

// unboundRenamed has another code for a missing session than for an unknown one.
func unboundRenamed(m manager, to connInfo, ev event, send sender) {
	if isRefusal(ev, proto.SessionNotFound) && m.DefaultSession(to.ID) == "" {
		ev.Data = ev.Data.With("errorCode", "no_session")
	}
	send(to.ID, ev)
}

func renamedErrors(_ manager, to connInfo, ev event, send sender) {
	if isRefusal(ev) {
		ev.Type = "switch_error"
	}
	send(to.ID, ev)
}

func refusedAndSwitched(m manager, to connInfo, ev event, send sender) {
	if isRefusal(ev, proto.AgentNotFound) {
		send(to.ID, confirmation(m, to))
	}
	send(to.ID, ev)
}

func switchedIfMalformed(m manager, to connInfo, ev event, send sender) {
	if isRefusal(ev, proto.InvalidAgentIDFormat) {
		send(to.ID, confirmation(m, to))
	}
	send(to.ID, ev)
}

// confirmation is an agent_switched that stays where it is.
func confirmation(m manager, c connInfo) event {
	id := m.AgentOf(m.DefaultSession(c.ID))
	return event{Type: proto.AgentSwitchedEvent, Data: eventData{
		"previousAgentId": id, "currentAgentId": id, "agentName": nameOf(m, id),
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
